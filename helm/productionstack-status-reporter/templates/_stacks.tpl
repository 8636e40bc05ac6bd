{{/* The mode of each stack, on, auto or off, as YAML. What is not given is the program's default. */}}
{{- define "status-reporter.stacks" -}}
{{- /* YAML takes `on` and `off` for these. */ -}}
{{- $switched := dict "true" "on" "false" "off" -}}
{{- $given := .Values.stacks | default dict -}}
{{- range $stack, $default := dict "kaito" "auto" "kthena" "auto" "otterscale" "auto" "kserve" "auto" "llmisvc" "auto" }}
{{- $mode := get $given $stack }}
{{ $stack }}: {{ get $switched (toString $mode) | default $mode | default $default | quote }}
{{- end }}
{{- end -}}

{{/* The mode of each shared part that is given one, as YAML. */}}
{{- define "status-reporter.components" -}}
{{- /* YAML takes `on` and `off` for these. */ -}}
{{- $switched := dict "true" "on" "false" "off" -}}
{{- range $part, $mode := .Values.components }}
{{- if not (kindIs "invalid" $mode) }}
{{ $part }}: {{ get $switched (toString $mode) | default $mode | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Which part of the status of ModelServings is written: off, roles or full. */}}
{{- define "status-reporter.modelServingStatus" -}}
{{- /* YAML takes `off` for false. */ -}}
{{- .Values.modelServing.status | default "off" -}}
{{- end -}}

{{/* The verb that it takes: `full` replaces the status, `roles` applies a part of it. Empty where nothing is written. */}}
{{- define "status-reporter.modelServingVerb" -}}
{{- get (dict "full" "update" "roles" "patch") (include "status-reporter.modelServingStatus" .) -}}
{{- end -}}

{{/* The part of the notes about stacks. */}}
{{- define "status-reporter.stackNotes" -}}
{{- $modes := include "status-reporter.stacks" . | fromYaml }}
{{- $looked := list }}
{{- $off := list }}
{{- range $stack, $mode := $modes }}
{{- if eq $mode "off" }}
{{- $off = append $off $stack }}
{{- else }}
{{- $looked = append $looked (printf "%s (%s)" $stack $mode) }}
{{- end }}
{{- end }}

Stacks that it looks at: {{ join ", " $looked | default "none" }}.
{{- with $off }}
Stacks that are switched off (stacks): {{ join ", " . }}.
{{- end }}
{{- with include "status-reporter.modelServingVerb" . }}

It writes {{ eq . "update" | ternary "the whole status" "status.roleStatuses" }} of ModelServings (modelServing.status is {{ include "status-reporter.modelServingStatus" $ }}).
{{- end }}
{{- if .Values.modelServing.roleEvents }}

It reports changes of roles as Events on ModelServings{{ if .Values.rbac.create }}, and so may create Events in every namespace{{ end }}.
{{- end }}
{{- end -}}
