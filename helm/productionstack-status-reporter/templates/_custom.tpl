{{/* The file of --config: the declarations in the values, unchanged. Empty without any. */}}
{{- define "status-reporter.configFile" -}}
{{- with .Values.customComponents -}}
{{- dict "custom-components" . | toYaml -}}
{{- end -}}
{{- end -}}

{{/* The files of the ConfigMap, by name. */}}
{{- define "status-reporter.files" -}}
{{- $files := dict -}}
{{- with include "status-reporter.configFile" . }}{{ $_ := set $files "config.yaml" . }}{{ end -}}
{{- with .Values.logSignatures }}{{ $_ := set $files "log-signatures.yaml" . }}{{ end -}}
{{- with .Values.dialects }}{{ $_ := set $files "dialects.yaml" (toYaml .) }}{{ end -}}
{{- with $files }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{- define "status-reporter.configName" -}}
{{- include "status-reporter.label" (printf "%s-config" (include "status-reporter.fullname" .)) -}}
{{- end -}}

{{/* Where these files are in the container. */}}
{{- define "status-reporter.configFolder" -}}
/etc/status-reporter
{{- end -}}

{{/* Resources that are watched always, or for a stack, as `<resource>.<group>: true`. What is listed on demand alone is not among them. */}}
{{- define "status-reporter.readAnyway" -}}
{{- $files := list "always" -}}
{{- range $stack, $mode := include "status-reporter.stacks" . | fromYaml -}}
{{- if ne $mode "off" -}}
{{- $files = append $files $stack -}}
{{- end -}}
{{- end -}}
{{- range $files }}
{{- range printf "files/cluster-role/%s.yaml" . | $.Files.Get | fromYamlArray }}
{{- if has "watch" .verbs }}
{{- $group := first .apiGroups }}
{{- range .resources }}
{{ printf "%s.%s" . $group | quote }}: true
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The rules of the ClusterRole for declarations, each kind once; empty if no more kinds are read. */}}
{{- define "status-reporter.customRules" -}}
{{- $read := include "status-reporter.readAnyway" . | fromYaml -}}
{{- range .Values.customComponents -}}
{{- $group := "" -}}
{{- $plural := "" -}}
{{- with .workload -}}
{{- $group = "apps" -}}
{{- $plural = printf "%ss" (lower .kind) -}}
{{- end -}}
{{- with .condition -}}
{{- $group = .group -}}
{{- $plural = .plural -}}
{{- end -}}
{{- $key := printf "%s.%s" $plural $group -}}
{{- if and $plural (not (hasKey $read $key)) -}}
{{- $_ := set $read $key true }}
- apiGroups: [{{ $group | quote }}]
  resources:
    - {{ $plural | quote }} # {{ .reason }}
  verbs: [list, watch]
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The same for kinds of models in `dialects`, and the other kinds that they read. */}}
{{- define "status-reporter.dialectRules" -}}
{{- $read := include "status-reporter.readAnyway" . | fromYaml -}}
{{- range $dialect := .Values.dialects -}}
{{- $kinds := list .kind -}}
{{- range $name, $other := get . "also-reads" }}{{ $kinds = append $kinds $other.kind }}{{ end -}}
{{- range $kinds -}}
{{- $key := printf "%s.%s" .plural .group -}}
{{- if not (hasKey $read $key) -}}
{{- $_ := set $read $key true }}
- apiGroups: [{{ .group | quote }}]
  resources:
    - {{ .plural | quote }} # {{ .kind }}s of {{ $dialect.project }}
  verbs: [list, watch]
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Checks of declarations that the schema cannot do: names that must exist, or must not. The program checks the rest when it starts. */}}
{{- define "status-reporter.customChecks" -}}
{{- $names := .Files.Get "files/reasons.yaml" | fromYamlArray -}}
{{- range $index, $each := .Values.customComponents -}}
{{- if has .reason $names -}}
{{- fail (printf "customComponents[%d].reason is %s, which is taken: choose another name" $index .reason) -}}
{{- end -}}
{{- $names = append $names .reason -}}
{{- end -}}
{{- range $index, $each := .Values.customComponents -}}
{{- $others := without $names .reason -}}
{{- range $key := list "before" "after" -}}
{{- with get $each $key -}}
{{- if not (has . $others) -}}
{{- fail (printf "customComponents[%d].%s (%s) is %s, which is not another reason" $index $key $each.reason .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range .suppresses -}}
{{- if not (has . $others) -}}
{{- fail (printf "customComponents[%d].suppresses (%s) names %s, which is not another reason" $index $each.reason .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range .Values.disableReasons -}}
{{- if not (has . (append $names "runtime")) -}}
{{- fail (printf "disableReasons names %s, which is not a reason%s" . (include "status-reporter.meant" (list . $names))) -}}
{{- end -}}
{{- end -}}
{{- if .Values.customComponents -}}
{{- $graced := concat $names (list "node-boot" "model-startup" "load-balancer") -}}
{{- range $reason, $_ := .Values.grace -}}
{{- if not (has $reason $graced) -}}
{{- fail (printf "grace names %s, which is not a reason%s" $reason (include "status-reporter.meant" (list $reason $graced))) -}}
{{- end -}}
{{- end -}}
{{- range .Values.extraArgs -}}
{{- if hasPrefix "--config" . -}}
{{- fail (printf "extraArgs has %s, and customComponents use a file of --config too: put them into your file, or leave the flag out" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A hint for a misspelt name: the known name that shares most of its triples of letters. */}}
{{- define "status-reporter.meant" -}}
{{- $name := index . 0 | lower -}}
{{- $triples := max 0 (sub (len $name) 2) | int -}}
{{- $best := dict "shared" 0 "apart" 0 "name" "" -}}
{{- range $each := index . 1 -}}
{{- $shared := 0 -}}
{{- range $at := until $triples -}}
{{- if contains (substr $at (int (add $at 3)) $name) (lower $each) -}}{{- $shared = add1 $shared -}}{{- end -}}
{{- end -}}
{{- $apart := max (sub (len $each) (len $name)) (sub (len $name) (len $each)) -}}
{{- if or (gt (int $shared) (int $best.shared)) (and (eq (int $shared) (int $best.shared)) (lt (int $apart) (int $best.apart))) -}}
{{- $best = dict "shared" $shared "apart" $apart "name" $each -}}
{{- end -}}
{{- end -}}
{{- if gt (mul 2 $best.shared | int) $triples -}}
; did you mean {{ $best.name }}?
{{- end -}}
{{- end -}}

{{/* The part of the notes about declarations. */}}
{{- define "status-reporter.customNotes" -}}
{{- with .Values.customComponents }}
{{- $reasons := list }}
{{- range . }}
{{- $reasons = append $reasons .reason }}
{{- end }}

Reasons of your own (customComponents): {{ join ", " $reasons }}.
To see them explained:
  kubectl -n {{ include "status-reporter.namespace" $ }} exec deploy/{{ include "status-reporter.fullname" $ }} -- status-reporter explain --config {{ include "status-reporter.configFolder" $ }}/config.yaml
{{- end }}
{{- if .Values.logSignatures }}

Your own signatures of logs (logSignatures) are read{{ if .Values.podLogs }}.{{ else }} only where logs are: podLogs is false.{{ end }}
{{- end }}
{{- end -}}
