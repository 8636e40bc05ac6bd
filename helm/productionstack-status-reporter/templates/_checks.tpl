{{/* Checks that compare values, which the schema cannot do. */}}
{{- define "status-reporter.checks" -}}
{{- range $path, $instead := .Files.Get "files/gone.yaml" | fromYaml -}}
{{- $value := $.Values -}}
{{- $is_there := true -}}
{{- range splitList "." $path -}}
{{- if and $is_there (kindIs "map" $value) (hasKey $value .) -}}
{{- $value = index $value . -}}
{{- else -}}
{{- $is_there = false -}}
{{- end -}}
{{- end -}}
{{- if and $is_there (not (kindIs "invalid" $value)) -}}
{{- fail (printf "%s is gone: %s" $path $instead) -}}
{{- end -}}
{{- end -}}
{{- $grace := .Values.grace | default dict -}}
{{- $slow := get $grace "inferencesetWeightDownloadSlow" | default .Values.controlPlane.weightDownload.windowSeconds | default 0 | int -}}
{{- $longest := max $slow (get (.Values.runtime.thresholds | default dict) "stalled-without-demand-seconds" | default 0 | ceil | int) -}}
{{- /* A grace of a reason with a window is its window. */ -}}
{{- $windowed := .Files.Get "files/windowed-reasons.yaml" | fromYamlArray -}}
{{- range $reason, $seconds := $grace -}}
{{- if has $reason $windowed -}}
{{- $longest = max $longest (int $seconds) -}}
{{- end -}}
{{- end -}}
{{- /* At most a thousand scrapes of a pod are kept. */ -}}
{{- $shortest := ceil (divf $longest 999) | int -}}
{{- $interval := include "status-reporter.scrapeSeconds" . | int -}}
{{- if and (lt $interval $shortest) (ne (include "status-reporter.scrapeVia" .) "off") -}}
{{- fail (printf "scrape.intervalSeconds is %d: it must be %d or more, because the longest window is %d s" $interval $shortest $longest) -}}
{{- end -}}
{{- with .Values.serviceMonitor -}}
{{- if and .enabled (gt (include "status-reporter.milliseconds" .scrapeTimeout | int) (include "status-reporter.milliseconds" .interval | int)) -}}
{{- fail (printf "serviceMonitor.scrapeTimeout is %s: it must not be more than interval, which is %s, or the Prometheus operator leaves the ServiceMonitor out" .scrapeTimeout .interval) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.reportService.enabled (regexMatch "^(0$|localhost:|127[.]|\\[::1\\]|.*:0$)" .Values.reportBindAddress) -}}
{{- fail (printf "reportService.enabled is true and reportBindAddress is %s: a Service needs an address that other pods reach, such as :8082" .Values.reportBindAddress) -}}
{{- end -}}
{{- if eq (include "status-reporter.stacks" . | fromYaml).kthena "off" -}}
{{- $status := include "status-reporter.modelServingStatus" . -}}
{{- if ne $status "off" -}}
{{- fail (printf "modelServing.status is %s and stacks.kthena is off: no ModelServing is looked at, so none is written" $status) -}}
{{- end -}}
{{- end -}}
{{- include "status-reporter.customChecks" . -}}
{{- with .Values.controlPlane.weightDownload.metricPort -}}
{{- if and $.Values.scrape.port (not (has (int $.Values.scrape.port) (list 5000 (int .)))) -}}
{{- fail (printf "controlPlane.weightDownload.metricPort is %v and scrape.port is %v: they are two names of one port, so set one" . $.Values.scrape.port) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A duration of Prometheus (`1m30s`) in milliseconds. */}}
{{- define "status-reporter.milliseconds" -}}
{{- $sum := 0 -}}
{{- range regexFindAll "[0-9]+(ms|s|m|h)" . -1 -}}
{{- $unit := regexFind "[a-z]+" . -}}
{{- $sum = add $sum (mul (trimSuffix $unit . | int) (get (dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000) $unit)) -}}
{{- end -}}
{{- $sum -}}
{{- end -}}
