{{/*
How well each model served, in minutes: there is one sample of a model's state per minute, and the number of samples of a state in a window is
the time in it. Windows over six hours are summed from hours, so 30 days are 720 samples and not 43,200. A state without samples counts
nowhere; `unknown` is not up, and `idle` is neither up nor down. The label `reporter` distinguishes two releases. Ranges lack a second, as
Prometheus before 3.0 counts the samples of both ends.
*/}}
{{- define "status-reporter.servedGroups" -}}
{{- $name := printf "%s-served" (include "status-reporter.sharedName" .) -}}
{{- $reporter := printf "%s/%s" (include "status-reporter.namespace" .) (include "status-reporter.metricsName" .) -}}
{{- $of := printf "reporter=%q" $reporter -}}
{{- $model := "reporter, namespace, subject" -}}
{{- $down := printf "max by (%s) (status_reporter:model_state{%s, state=\"not-serving\"})" $model $of -}}
{{- $cause := include "status-reporter.ofLeader" (list . "status_reporter_subject_cause" "reason") -}}
{{- $minutes := printf "status_reporter:model_state:minutes1h{%s}" $of -}}
{{- $minute := list
  (dict "record" "model_state" "expr" (include "status-reporter.ofLeader" (list . "status_reporter_subject_state" "state")))
  (dict "record" "model_down" "expr" (printf "(%s)\n  and on (namespace, subject) %s\n  or (label_replace(%s, \"reason\", \"none\", \"\", \"\") unless on (namespace, subject) (%s))" $cause $down $down $cause))
  (dict "record" "model_outage" "expr" (printf "%s\n  unless on (%s) max_over_time(status_reporter:model_state{%s, state=\"not-serving\"}[5m] offset 1m)" $down $model $of))
  (dict "record" "model_state:share1h" "expr" (include "status-reporter.share" (list $model (printf "count_over_time(status_reporter:model_state{%s}[3599s])" $of)))) -}}
{{- range $window, $seconds := dict "5m" 299 "30m" 1799 "1h" 3599 "2h" 7199 "6h" 21599 -}}
{{- $counted := printf "count_over_time(status_reporter:model_state{%s, %%s}[%ds])" $of $seconds -}}
{{- $minute = append $minute (dict "record" (printf "model_errors:ratio%s" $window) "expr" (include "status-reporter.errorRatio" (list $model $counted))) -}}
{{- end -}}
{{- $hour := list -}}
{{- range $record, $counted := dict "model_state:minutes1h" "model_state" "model_down:minutes1h" "model_down" "model_outages:count1h" "model_outage" -}}
{{- $hour = append $hour (dict "record" $record "expr" (printf "count_over_time(status_reporter:%s{%s}[3599s])" $counted $of)) -}}
{{- end -}}
{{- $days := list -}}
{{- range $window, $seconds := dict "1d" 86399 "30d" 2591999 -}}
{{- $summed := printf "sum_over_time(%s[%ds])" $minutes $seconds -}}
{{- $days = concat $days (list
  (dict "record" (printf "model_state:share%s" $window) "expr" (include "status-reporter.share" (list $model $summed)))
  (dict "record" (printf "namespace_state:share%s" $window) "expr" (include "status-reporter.share" (list "reporter, namespace" $summed)))
  (dict "record" (printf "model_down:minutes%s" $window) "expr" (printf "sum_over_time(status_reporter:model_down:minutes1h{%s}[%ds])" $of $seconds))
  (dict "record" (printf "model_outages:count%s" $window) "expr" (printf "sum_over_time(status_reporter:model_outages:count1h{%s}[%ds])" $of $seconds))) -}}
{{- end -}}
{{- range $window, $seconds := dict "1d" 86399 "3d" 259199 "30d" 2591999 -}}
{{- $summed := printf "sum_over_time(status_reporter:model_state:minutes1h{%s, %%s}[%ds])" $of $seconds -}}
{{- $days = append $days (dict "record" (printf "model_errors:ratio%s" $window) "expr" (include "status-reporter.errorRatio" (list $model $summed))) -}}
{{- end -}}
{{- /* Every three minutes, as Prometheus looks back five minutes. */ -}}
{{- range $group := list (list "" "1m" $minute) (list "-hours" "1h" $hour) (list "-days" "3m" $days) }}
- name: {{ printf "%s%s" $name (first $group) | quote }}
  interval: {{ index $group 1 }}
  rules:
    {{- range last $group }}
    - record: status_reporter:{{ .record }}
      expr: |-
        {{- .expr | nindent 8 }}
      labels:
        reporter: {{ $reporter | quote }}
    {{- end }}
    {{- if and (not (first $group)) $.Values.prometheusRule.objective.enabled }}
    {{- include "status-reporter.objectiveAlerts" (list $ $of) | trim | nindent 4 }}
    {{- end }}
{{- end }}
{{- end -}}

{{/* A metric of models from the leader, or from any replica if none leads, from (list root metric label). */}}
{{- define "status-reporter.ofLeader" -}}
{{- $from := include "status-reporter.from" (first .) -}}
{{- $all := printf "%s{%s, layer=\"modeldeployment\"}" (index . 1) $from -}}
{{- $leading := printf "%s and on (pod) status_reporter_leader{%s} == 1" $all $from -}}
max by (namespace, subject, {{ last . }}) (label_replace(
  ({{ $leading }})
    or ({{ $all }} unless on (subject) ({{ $leading }})),
  "namespace", "$1", "subject_namespace", "(.*)"))
{{- end -}}

{{/* The share of each state, from (list labels minutes). */}}
{{- define "status-reporter.share" -}}
sum by ({{ first . }}, state) ({{ last . }})
  / on ({{ first . }}) group_left sum by ({{ first . }}) ({{ last . }})
{{- end -}}

{{/* The share of time not up in the time not idle, from (list labels minutes). */}}
{{- define "status-reporter.errorRatio" -}}
{{- $by := first . -}}
{{- $wanted := printf "sum by (%s) (%s)" $by (printf (last .) "state!=\"idle\"") -}}
(sum by ({{ $by }}) ({{ printf (last .) "state=~\"not-serving|unknown\"" }}) or 0 * {{ $wanted }})
  / {{ $wanted }}
{{- end -}}

{{/* Alerts by the burn rate of the error budget, in two windows each (Google, The Site Reliability Workbook, chapter 5), from (list root selector). */}}
{{- define "status-reporter.objectiveAlerts" -}}
{{- $ := first . -}}
{{- $of := last . -}}
{{- $percent := $.Values.prometheusRule.objective.percent -}}
{{- $budget := divf (subf 100.0 (float64 $percent)) 100.0 -}}
{{- $alerts := list
  (dict "name" "Fast" "severity" "critical" "rows" (list (list 14.4 "1h" "5m") (list 6.0 "6h" "30m")))
  (dict "name" "Slowly" "severity" "warning" "rows" (list (list 3.0 "1d" "2h") (list 1.0 "3d" "6h")))
-}}
{{- range $each := $alerts }}
- alert: StatusReporterObjectiveBurns{{ $each.name }}
  expr: |-
    {{- range $at, $row := $each.rows }}
    {{- $most := printf "%.6g" (mulf (first $row) $budget) }}
    {{ if $at }}or {{ end -}}
    status_reporter:model_errors:ratio{{ index $row 1 }}{ {{- $of -}} } > {{ $most }} and status_reporter:model_errors:ratio{{ index $row 2 }}{ {{- $of -}} } > {{ $most }}
    {{- end }}
  labels:
    severity: {{ $each.severity }}
  annotations:
    {{- include "status-reporter.runbook" (list $ (printf "StatusReporterObjectiveBurns%s" $each.name)) | nindent 4 }}
    summary: "{{ "{{ $labels.subject }}" }} is down more than its objective of {{ $percent }} % allows."
    description: >-
      What took it down, in minutes: status_reporter:model_down:minutes1d{subject="{{ "{{ $labels.subject }}" }}"}.
{{- end }}
{{- end -}}
