{{/* A separate template, so that a parent chart can show it: helm shows only the notes of the top chart. */}}
{{- define "status-reporter.notes" -}}
{{- $namespace := include "status-reporter.namespace" . -}}
{{- $name := include "status-reporter.fullname" . -}}
The status reporter writes root causes as Events to kube-system.

What is wrong now:
  kubectl -n kube-system get events -l status-reporter.io/state=firing -o custom-columns=REASON:.reason,MESSAGE:.message

All its Events of the last hour:
  kubectl -n kube-system get events --field-selector source=productionstack-status-reporter
{{- $image := include "status-reporter.image" . }}
{{- if not (regexMatch "^(localhost|[^/]*[.:][^/]*)/" $image) }}

Its image is {{ $image }}, without a registry: nodes pull it from docker.io, unless it was loaded onto them. Set image.registry if pods have ImagePullBackOff.
{{- end }}
{{- if .Values.mirrorToWorkload }}

It also writes Events about models on the models themselves (mirrorToWorkload){{ if .Values.rbac.create }}, and may create and patch Events in every namespace{{ end }}:
  kubectl -n <namespace> describe {{ include "status-reporter.someModel" . }} <name>
{{- end }}
{{- with dig "urls" nil (.Values.alertmanager | default dict) }}

It sends alerts to {{ join ", " . }}, with the label source="status-reporter". Receivers and a template for them: docs/alerts.md.
{{- if and $.Values.prometheusRule.enabled $.Values.prometheusRule.causes.for }}
Prometheus has alerts of causes too (prometheusRule.causes): use the inhibition rule of examples/alert-routing/alertmanager.yaml, or on-call is notified of each cause twice.
{{- end }}
{{- end }}
{{- if .Values.leaderElection.enabled }}

The leader:
  kubectl -n kube-system get lease {{ .Values.leaderElection.id }}
{{- end }}

What it sees, with what is pending, held and suppressed:
{{- if eq .Values.reportBindAddress "0" }}
  (the report is switched off: reportBindAddress is "0")
{{- else }}
  kubectl -n {{ $namespace }} port-forward deploy/{{ $name }} 8082:{{ splitList ":" .Values.reportBindAddress | last }}
  and, elsewhere: status-reporter status, or a browser at http://127.0.0.1:8082/
{{- end }}
{{- if .Values.reportService.enabled }}

The report has a Service, {{ include "status-reporter.reportName" . }}. It names the faults of all tenants and does not authenticate users:
put a proxy that does in front of it (docs/page.md, "Behind a proxy"), and let only that proxy reach it (networkPolicy.reportFrom).
{{- end }}
{{- if and .Values.networkPolicy.enabled .Values.reportService.enabled (not .Values.networkPolicy.reportFrom) }}
No client can reach it through that Service until networkPolicy.reportFrom allows it.
{{- end }}
{{- if and .Values.networkPolicy.enabled .Values.metrics.enabled .Values.networkPolicy.metricsFrom }}

Only peers in networkPolicy.metricsFrom may read its metrics. If your Prometheus is in another namespace, add it there.
{{- end }}
{{- if .Values.metrics.enabled }}

To test that it works and has the permissions that it needs:
  helm -n {{ .Release.Namespace }} test {{ .Release.Name }} --logs
{{- end }}
{{- include "status-reporter.stackNotes" . }}
{{- include "status-reporter.customNotes" . }}
{{- if .Values.disableReasons }}

It writes no Events for: {{ join ", " .Values.disableReasons }}.
{{- end }}
{{- $via := include "status-reporter.scrapeVia" . }}
{{- if eq $via "off" }}

The metrics of model pods are not read (scrape.via is off): slow downloads and runtime reasons are not reported.
{{- else if and (eq $via "apiserver-proxy") .Values.rbac.create }}

It reads the metrics of model pods through the API server, so it may GET any port of any pod (pods/proxy).
{{- end }}
{{- if not .Values.rbac.create }}

No roles were created for it (rbac.create is false). Anything it may not read is reported as clusterStatusUnknown.
{{- end }}
{{- if not .Values.controlPlane.nodeProvisioner.name }}

The node provisioner is not looked at: controlPlane.nodeProvisioner.name is empty.
{{- end }}
{{- include "status-reporter.modelServingNotes" . }}
{{- end -}}

{{/* A kind of models for the example above, of a stack that is not off. */}}
{{- define "status-reporter.someModel" -}}
{{- $modes := include "status-reporter.stacks" . | fromYaml -}}
{{- $kinds := list -}}
{{- range $stack, $kind := dict "kaito" "inferenceset" "kthena" "modelserving" "otterscale" "modelservice" "kserve" "inferenceservice" "llmisvc" "llminferenceservice" "workloads" "workload" -}}
{{- if ne (get $modes $stack) "off" -}}
{{- $kinds = append $kinds $kind -}}
{{- end -}}
{{- end -}}
{{- first $kinds | default "<kind>" -}}
{{- end -}}
