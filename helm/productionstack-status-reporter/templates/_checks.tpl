{{/* What the schema cannot say because it compares values. */}}
{{- define "status-reporter.checks" -}}
{{- with .Values.leaderElection -}}
{{- if and .leaseDurationSeconds .renewDeadlineSeconds .retryPeriodSeconds -}}
{{- if le (float64 .leaseDurationSeconds) (float64 .renewDeadlineSeconds) -}}
{{- fail (printf "leaderElection.leaseDurationSeconds is %v: it must be more than renewDeadlineSeconds, which is %v" .leaseDurationSeconds .renewDeadlineSeconds) -}}
{{- end -}}
{{- $shortest := mulf 1.2 .retryPeriodSeconds -}}
{{- if le (float64 .renewDeadlineSeconds) $shortest -}}
{{- fail (printf "leaderElection.renewDeadlineSeconds is %v: it must be more than 1.2 times retryPeriodSeconds, which is %v" .renewDeadlineSeconds $shortest) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $longest := max (.Values.controlPlane.weightDownload.windowSeconds | default 0 | int) (get (.Values.runtime.thresholds | default dict) "stalled-without-demand-seconds" | default 0 | int) -}}
{{- range .Values.runtime.windows -}}
{{- $longest = max $longest (int .) -}}
{{- end -}}
{{- /* A thousand scrapes of a pod are kept. */ -}}
{{- $shortest := ceil (divf $longest 999) | int -}}
{{- $interval := include "status-reporter.scrapeSeconds" . | int -}}
{{- if and (lt $interval $shortest) (ne (include "status-reporter.scrapeVia" .) "off") -}}
{{- fail (printf "scrape.intervalSeconds is %d: it must be %d or more, as the longest window is %d s" $interval $shortest $longest) -}}
{{- end -}}
{{- if eq (include "status-reporter.stacks" . | fromYaml).kthena "off" -}}
{{- $status := include "status-reporter.modelServingStatus" . -}}
{{- if ne $status "off" -}}
{{- fail (printf "modelServing.status is %s and stacks.kthena is off: no ModelServing is looked at, so none is written" $status) -}}
{{- end -}}
{{- if .Values.modelServing.roleEvents -}}
{{- fail "modelServing.roleEvents is true and stacks.kthena is off: no ModelServing is looked at, so nothing is told of its roles" -}}
{{- end -}}
{{- end -}}
{{- include "status-reporter.customChecks" . -}}
{{- with .Values.controlPlane.weightDownload.metricPort -}}
{{- if and $.Values.scrape.port (not (has (int $.Values.scrape.port) (list 5000 (int .)))) -}}
{{- fail (printf "controlPlane.weightDownload.metricPort is %v and scrape.port is %v: they are two names of one port, so set one" . $.Values.scrape.port) -}}
{{- end -}}
{{- end -}}
{{- end -}}
