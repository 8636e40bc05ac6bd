{{/* The mode of each stack, on, auto or off, as YAML; by default that of the program. */}}
{{- define "status-reporter.stacks" -}}
{{- /* Unquoted `on` and `off` are booleans in YAML. */ -}}
{{- $switched := dict "true" "on" "false" "off" -}}
{{- $given := .Values.stacks | default dict -}}
{{- range $stack, $default := dict "kaito" "auto" "kthena" "auto" "otterscale" "auto" "kserve" "auto" "llmisvc" "auto" "workloads" "auto" "dialects" "auto" }}
{{- $mode := get $given $stack }}
{{ $stack }}: {{ get $switched (toString $mode) | default $mode | default $default | quote }}
{{- end }}
{{- end -}}

{{/* The stacks whose kinds may be read, as YAML, with their modes. A stack that is `auto` is included if the cluster serves it: tenants of
other stacks should not have to accept a right that nothing needs. If the cluster serves none of them, or helm has no cluster (helm
template, GitOps), all are included. LeaderWorkerSets alone say nothing about other stacks. */}}
{{- define "status-reporter.granted" -}}
{{- $served := join "\n" .Capabilities.APIVersions -}}
{{- $kinds := dict "kaito" "(?m)^kaito[.]sh/" "kthena" "(?m)^workload[.](serving[.])?volcano[.]sh/" "otterscale" "(?m)^model[.]otterscale[.]io/" "kserve" "(?m)^serving[.]kserve[.]io/[^/]+/InferenceService$" "llmisvc" "(?m)^serving[.]kserve[.]io/[^/]+/LLMInferenceService$" "workloads" "(?m)^leaderworkerset[.]x-k8s[.]io/" "dialects" "(?m)/(RayService|DynamoGraphDeployment|StormService|NIMService|VLLMRuntime|RoleBasedGroup)$|^ome[.]io/|^kubeai[.]org/" -}}
{{- $modes := include "status-reporter.stacks" . | fromYaml -}}
{{- $any := false -}}
{{- range $stack, $kind := $kinds }}{{ if and (ne $stack "workloads") (regexMatch $kind $served) }}{{ $any = true }}{{ end }}{{ end -}}
{{- /* The release brings this kind itself, or writes its status. */ -}}
{{- if or .Values.modelServing.crd.install (include "status-reporter.modelServingVerb" .) }}{{ $served = printf "%s\nworkload.volcano.sh/" $served }}{{ end -}}
{{- range $stack, $mode := $modes }}
{{- if or (eq $mode "on") (and (eq $mode "auto") (or (not $any) (regexMatch (get $kinds $stack) $served))) }}
{{ $stack }}: {{ $mode | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The mode of each shared part that is given one, as YAML. */}}
{{- define "status-reporter.components" -}}
{{- /* Unquoted `on` and `off` are booleans in YAML. */ -}}
{{- $switched := dict "true" "on" "false" "off" -}}
{{- range $part, $mode := .Values.components }}
{{- if not (kindIs "invalid" $mode) }}
{{ $part }}: {{ get $switched (toString $mode) | default $mode | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Which part of the status of ModelServings is written: off, roles or full. */}}
{{- define "status-reporter.modelServingStatus" -}}
{{- /* An unquoted `off` is false in YAML. */ -}}
{{- .Values.modelServing.status | default "off" -}}
{{- end -}}

{{/* The verb that it needs: `full` replaces the status, `roles` applies a part of it. Empty if nothing is written. */}}
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
{{- if .Values.rbac.create }}
{{- $granted := include "status-reporter.granted" . | fromYaml }}
{{- $not := list }}
{{- range $stack, $mode := $modes }}
{{- if and (eq $mode "auto") (not (hasKey $granted $stack)) }}
{{- $not = append $not $stack }}
{{- end }}
{{- end }}
{{- with $not }}
The cluster does not serve the kinds of: {{ join ", " . }}. It may not read them either: run `helm upgrade` once you have installed one, or set it to "on" (stacks).
{{- end }}
{{- end }}
{{- with $off }}
Stacks that are switched off (stacks): {{ join ", " . }}.
{{- end }}
{{- with include "status-reporter.modelServingVerb" . }}

It writes {{ eq . "update" | ternary "the whole status" "status.roleStatuses" }} of ModelServings (modelServing.status is {{ include "status-reporter.modelServingStatus" $ }}).
{{- end }}
{{- end -}}
