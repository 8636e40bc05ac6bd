{{/* A text as a DNS label of at most 63 characters; a changed text gets a hash, so that no two become the same. */}}
{{- define "status-reporter.label" -}}
{{- $label := regexReplaceAll "[^a-z0-9-]" (lower .) "-" -}}
{{- if or (ne $label .) (gt (len .) 63) -}}
{{- $label = printf "%s-%s" ($label | trunc 54 | trimSuffix "-") (sha256sum . | trunc 8) -}}
{{- end -}}
{{- $label -}}
{{- end -}}

{{- define "status-reporter.fullname" -}}
{{- include "status-reporter.label" (.Values.fullnameOverride | default (printf "%s-status-reporter" .Release.Name)) -}}
{{- end -}}

{{/* Name of objects in kube-system and of the cluster, where all releases meet. A namespace has no dot, so names are unique. */}}
{{- define "status-reporter.sharedName" -}}
{{- printf "%s.%s" (include "status-reporter.fullname" .) .Release.Namespace -}}
{{- end -}}

{{- define "status-reporter.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{- define "status-reporter.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (include "status-reporter.fullname" .) -}}
{{- end -}}

{{- define "status-reporter.metricsName" -}}
{{- $name := printf "%s-metrics" (include "status-reporter.fullname" .) -}}
{{- /* A Service, unlike a release, begins with a letter. */ -}}
{{- include "status-reporter.label" (regexMatch "^[a-z]" $name | ternary $name (printf "release-%s" $name)) -}}
{{- end -}}

{{- define "status-reporter.reportName" -}}
{{- $name := printf "%s-report" (include "status-reporter.fullname" .) -}}
{{- include "status-reporter.label" (regexMatch "^[a-z]" $name | ternary $name (printf "release-%s" $name)) -}}
{{- end -}}

{{/* Host names under which the report is served: those of its Service, and those of the values. */}}
{{- define "status-reporter.reportHosts" -}}
{{- $hosts := .Values.reportHosts | default list -}}
{{- if .Values.reportService.enabled -}}
{{- $name := include "status-reporter.reportName" . -}}
{{- $namespace := include "status-reporter.namespace" . -}}
{{- $hosts = concat (list $name (printf "%s.%s" $name $namespace) (printf "%s.%s.svc" $name $namespace)) $hosts -}}
{{- end -}}
{{- $hosts | toYaml -}}
{{- end -}}

{{- define "status-reporter.selectorLabels" -}}
app.kubernetes.io/name: productionstack-status-reporter
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: status-reporter
{{- end -}}

{{/* Labels of every object. */}}
{{- define "status-reporter.labels" -}}
{{- include "status-reporter.labelsWith" (list . dict) -}}
{{- end -}}

{{/* The same and more, from (list root more); the labels that select pods stay. */}}
{{- define "status-reporter.labelsWith" -}}
{{- $ := first . -}}
{{- $chart := printf "%s-%s" $.Chart.Name $.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" -}}
{{- $ours := dict
  "helm.sh/chart" $chart
  "app.kubernetes.io/version" $.Chart.AppVersion
  "app.kubernetes.io/managed-by" $.Release.Service
  "app.kubernetes.io/part-of" "productionstack"
-}}
{{- $selector := include "status-reporter.selectorLabels" $ | fromYaml -}}
{{- mergeOverwrite $ours ($.Values.commonLabels | default dict) (last . | default dict) $selector | toYaml -}}
{{- end -}}

{{/* A first part with a dot or a colon is a host, as in all references of images: such a repository stays where it is. */}}
{{- define "status-reporter.image" -}}
{{- $registry := (.Values.global | default dict).imageRegistry | default .Values.image.registry -}}
{{- with .Values.image -}}
{{- if and $registry (not (regexMatch "^(localhost|[^/]*[.:][^/]*)/" .repository)) -}}
{{ trimSuffix "/" $registry }}/
{{- end -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Time limits outside the daemon: the alerts and the test say "late" when /healthz does. */}}
{{- define "status-reporter.lateSeconds" -}}
{{- max 60 (mul 3 (.Values.resyncSeconds | default 60 | int)) -}}
{{- end -}}

{{/* "true" unless Istio is switched off; the program's default is on. */}}
{{- define "status-reporter.readsMesh" -}}
{{- $off := false -}}
{{- range list .Values.controlPlane.istiodDeployment .Values.controlPlane.istioNamespace -}}
{{- if and (empty .) (not (kindIs "invalid" .)) -}}
{{- $off = true -}}
{{- end -}}
{{- end -}}
{{- not $off -}}
{{- end -}}

{{/* Labels of the pod of `helm test`; they must not match the selector of the daemon's pods. */}}
{{- define "status-reporter.testLabels" -}}
app.kubernetes.io/name: productionstack-status-reporter
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: status-reporter-test
{{- end -}}

{{/* How pods are scraped, from which port, and how often; by default as in the program. */}}
{{- define "status-reporter.scrapeVia" -}}
{{- /* An unquoted `off` is false in YAML. */ -}}
{{- eq (toString .Values.scrape.via) "false" | ternary "off" (.Values.scrape.via | default "direct") -}}
{{- end -}}

{{- define "status-reporter.scrapePort" -}}
{{- coalesce .Values.controlPlane.weightDownload.metricPort .Values.scrape.port 5000 | int -}}
{{- end -}}

{{- define "status-reporter.scrapeSeconds" -}}
{{- .Values.scrape.intervalSeconds | default (eq (include "status-reporter.scrapeVia" .) "apiserver-proxy" | ternary 60 15) | int -}}
{{- end -}}

{{/* The annotation with the page that explains an alert, from (list root alert). */}}
{{- define "status-reporter.runbook" -}}
{{- $ := first . -}}
{{- $anchor := last . | lower -}}
runbook: docs/alerts.md#{{ $anchor }}
{{- with $.Values.prometheusRule.runbookUrl }}
runbook_url: {{ printf "%s#%s" . $anchor | quote }}
{{- end }}
{{- end -}}
