{{/*
Alerts of causes by layer, each about one reason of one subject. The label namespace is that of the subject, by which teams route;
what is of the whole cluster has none.
*/}}
{{- define "status-reporter.causeAlerts" -}}
{{- $causes := .Values.prometheusRule.causes -}}
{{- $stops := $causes.stopsModels | default dict -}}
{{- $itself := $causes.stopsItself | default dict -}}
{{- $layers := list
  (dict "layer" "cluster" "alert" "StatusReporterClusterCause" "ends" "StopsModels" "for" $stops.for "severity" $stops.severity)
  (dict "layer" "modelharness" "alert" "StatusReporterHarnessCause" "ends" "StopsModels" "for" $stops.for "severity" $stops.severity)
  (dict "layer" "modeldeployment" "alert" "StatusReporterModelCause" "ends" "StopsIt" "for" $causes.for "severity" $itself.severity)
-}}
{{- range $each := $layers -}}
{{- $firing := include "status-reporter.firingCauses" (list $ $each.layer) -}}
{{- $stopping := include "status-reporter.stoppingCauses" (list $ $each.layer) -}}
{{- $own := eq $each.layer "modeldeployment" -}}
{{- $subject := "{{ $labels.reason }} of {{ $labels.subject }}" }}
{{- if $each.for }}
- alert: {{ $each.alert }}{{ $each.ends }}
  expr: |-
    {{- include "status-reporter.bySubject" (printf "(%s) and on (layer, subject_namespace, subject, reason) (%s)" $stopping $firing) | nindent 4 }}
  for: {{ $each.for }}
  labels:
    severity: {{ $each.severity | default "critical" | quote }}
  annotations:
    {{- include "status-reporter.runbook" (list $ (printf "%s%s" $each.alert $each.ends)) | nindent 4 }}
    {{- include "status-reporter.reasonPage" (list $ $own) | nindent 4 }}
    {{- include "status-reporter.whatToType" $ | nindent 4 }}
    {{- if $own }}
    summary: {{ printf "%s: the model does not serve." $subject | quote }}
    impact: "Requests for this model fail."
    {{- else }}
    summary: {{ printf "%s: {{ $value }} model(s) do not serve." $subject | quote }}
    impact: "Requests for {{ "{{ $value }}" }} model(s) fail until this is repaired."
    {{- end }}
{{- end }}
- alert: {{ $each.alert }}
  expr: |-
    {{- include "status-reporter.bySubject" (empty $each.for | ternary $firing (printf "(%s) unless on (layer, subject_namespace, subject, reason) (%s)" $firing $stopping)) | nindent 4 }}
  for: {{ $causes.for }}
  labels:
    severity: {{ $causes.severity | default "warning" | quote }}
  annotations:
    {{- include "status-reporter.runbook" (list $ $each.alert) | nindent 4 }}
    {{- include "status-reporter.reasonPage" (list $ $own) | nindent 4 }}
    {{- include "status-reporter.whatToType" $ | nindent 4 }}
    summary: {{ printf "%s fires." $subject | quote }}
    {{- if $each.for }}
    impact: {{ $own | ternary "The model serves, degraded, or only what is around it is at fault." "No model has stopped serving because of it so far; some may serve degraded." | quote }}
    {{- else }}
    impact: "Whether models serve says the metric status_reporter_subject_state."
    {{- end }}
{{- end }}
{{- end -}}

{{/* What fires and is no notice, from (list root layer). Standbys judge too, so that a change of the leader, or of one pod, changes nothing. */}}
{{- define "status-reporter.firingCauses" -}}
{{- $ := first . -}}
max by (layer, subject_namespace, subject, reason) (status_reporter_firing_findings{ {{- include "status-reporter.from" $ }}, layer={{ last . | quote }}, type="Warning"
{{- with $.Values.disableReasons }}, reason!~{{ join "|" . | quote }}{{ end }}}) > 0
{{- end -}}

{{/* What stops models, from (list root layer): also where some come back for a moment, so that one alert does not take turns with the other. */}}
{{- define "status-reporter.stoppingCauses" -}}
{{- $ := first . -}}
max by (layer, subject_namespace, subject, reason) (max_over_time(status_reporter_cause_models{ {{- include "status-reporter.from" $ }}, layer={{ last . | quote }}, state="not-serving"}[5m])) > 0
{{- end -}}

{{- define "status-reporter.bySubject" -}}
max by (layer, namespace, subject, reason) (label_replace({{ . }}, "namespace", "$1", "subject_namespace", "(.*)"))
{{- end -}}

{{- define "status-reporter.from" -}}
namespace={{ include "status-reporter.namespace" . | quote }}, job={{ include "status-reporter.metricsName" . | quote }}
{{- end -}}

{{/* Where the reason is explained, from (list root model): a section holds for the models of all kinds. */}}
{{- define "status-reporter.reasonPage" -}}
{{- $ := first . -}}
{{- $heading := last . | ternary "{{ $labels.reason | reReplaceAll \"^[a-z]+\" \"\" | toLower }}" "{{ $labels.reason | toLower }}" -}}
reason_doc: {{ printf "docs/reasons.md#%s" $heading | squote }}
{{- with $.Values.prometheusRule.docsUrl }}
reason_url: {{ printf "%s/reasons.md#%s" (trimSuffix "/" .) $heading | squote }}
{{- end }}
{{- end -}}

{{- define "status-reporter.whatToType" -}}
description: >-
  Why, and what to do: kubectl get events -n kube-system
  -l status-reporter.io/reason={{ "{{ $labels.reason }}" }},status-reporter.io/state=firing and
  status-reporter explain {{ "{{ $labels.reason }}" }}{{ if .Values.customComponents }}, in a pod of the
  reporter with --config {{ include "status-reporter.configFolder" . }}/config.yaml, for some reasons are your own{{ end }}.
{{- end -}}
