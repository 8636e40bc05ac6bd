{{- define "status-reporter.modelServingCrdName" -}}
modelservings.{{ .Values.modelServing.crd.group | default "workload.serving.volcano.sh" }}
{{- end -}}

{{/* Name of the ConfigMap that says that the CRD is part of this release. */}}
{{- define "status-reporter.modelServingCrdMarker" -}}
{{- include "status-reporter.label" (printf "%s-modelserving-crd" (include "status-reporter.fullname" .)) -}}
{{- end -}}

{{/* The origin of the installed CRD of ModelServings, in words, unless it is this release. Empty without a cluster. */}}
{{- define "status-reporter.modelServingCrdOwner" -}}
{{- with lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" (include "status-reporter.modelServingCrdName" .) -}}
{{- $annotations := .metadata.annotations | default dict -}}
{{- $release := get $annotations "meta.helm.sh/release-name" -}}
{{- $namespace := get $annotations "meta.helm.sh/release-namespace" -}}
{{- if not (and (eq $release $.Release.Name) (eq $namespace $.Release.Namespace)) -}}
{{- if $release -}}release {{ $release }} in namespace {{ $namespace }}{{- else -}}something other than Helm{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* "true" if the installed CRD has status.roleStatuses. */}}
{{- define "status-reporter.modelServingCrdHasRoles" -}}
{{- with lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" (include "status-reporter.modelServingCrdName" .) -}}
{{- range .spec.versions -}}
{{- if hasKey (dig "schema" "openAPIV3Schema" "properties" "status" "properties" (dict) .) "roleStatuses" -}}true{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The part of the notes about the CRD of ModelServings; empty if the chart does not install it. */}}
{{- define "status-reporter.modelServingNotes" -}}
{{- if .Values.modelServing.crd.install }}
{{- $name := include "status-reporter.modelServingCrdName" . }}
{{- with include "status-reporter.modelServingCrdOwner" . }}

The CRD {{ $name }} was left alone: it comes from {{ . }}.
{{- if not (include "status-reporter.modelServingCrdHasRoles" $) }}
It lacks status.roleStatuses, which the API server therefore drops. To add it:
  kubectl patch crd {{ $name }} --type=json -p '{{ $.Files.Get "files/crds/role-statuses.json" | fromJsonArray | toJson }}'
{{- end }}
{{- else }}

The CRD {{ $name }} was installed; helm uninstall leaves it, and every ModelServing.
{{- end }}
{{- end }}
{{- end -}}
