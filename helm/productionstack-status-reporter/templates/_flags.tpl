{{/* The flags of `status-reporter run`, one on each line. A list is joined by commas, a map becomes KEY=VALUE; null leaves the flag out. */}}
{{- define "status-reporter.flags" -}}
{{- $v := .Values -}}
{{- $place := $v.controlPlane -}}
{{- $alerts := $v.alertmanager | default dict -}}
{{- /* Unquoted `on` and `off` are booleans in YAML. */ -}}
{{- $switched := dict "true" "on" "false" "off" -}}
{{- $stacks := include "status-reporter.stacks" . | fromYaml -}}
{{- $components := include "status-reporter.components" . | fromYaml -}}
{{- /* A name that is given counts as chosen by the user, so the program's defaults are left out. */ -}}
{{- $places := .Files.Get "files/places.yaml" | fromYaml -}}
{{- $fields := dict -}}
{{- range $name, $text := dict "cluster" (dig "cluster" nil $alerts) "dashboard" (dig "dashboardUrl" nil $alerts) "docs" $v.prometheusRule.docsUrl -}}
{{- if $text -}}
{{- /* A comma would begin the next field. */ -}}
{{- $_ := set $fields $name (replace "," "%2C" $text) -}}
{{- end -}}
{{- end -}}
{{- $flags := list
  (list "resync-seconds" $v.resyncSeconds)
  (list "startup-grace-seconds" $v.startupGraceSeconds)
  (list "grace" $v.grace)
  (list "model-namespaces" $v.modelNamespaces)
  (list "pod-logs" $v.podLogs)
  (list "weight-download-window-seconds" $place.weightDownload.windowSeconds)
  (list "weight-download-min-mbps" $place.weightDownload.minMBps)
  (list "runtime-threshold" $v.runtime.thresholds)
  (list "scrape-via" (include "status-reporter.scrapeVia" .))
  (list "scrape-interval-seconds" $v.scrape.intervalSeconds)
  (list "scrape-port" (coalesce $place.weightDownload.metricPort $v.scrape.port))
  (list "emit" $v.emit)
  (list "disable-reasons" $v.disableReasons)
  (list "mirror-to-workload" $v.mirrorToWorkload)
  (list "alertmanager-url" (dig "urls" nil $alerts | default nil))
  (list "alertmanager-credentials" (ternary "/etc/alertmanager" nil (or (dig "token" "secret" "" $alerts) (dig "ca" "configMap" "" $alerts) | empty | not)))
  (list "alert-fields" ($fields | default nil))
  (list "release-namespace" .Release.Namespace)
  (list "istio-namespace" $place.istioNamespace)
  (list "istiod-deployment" $place.istiodDeployment)
  (list "kaito-namespace" $place.kaitoNamespace)
  (list "kaito-deployment" $place.kaitoDeployment)
  (list "keda-namespace" $place.kedaNamespace)
  (list "keda-scaler-namespace" $place.kedaScalerNamespace)
  (list "keda-scaler-deployment" $place.kedaScalerDeployment)
  (list "gateway-auth-namespace" $place.gatewayAuthNamespace)
  (list "gateway-auth-deployment" $place.gatewayAuthDeployment)
  (list "azure-authz-namespace" $place.azureAuthz.namespace)
  (list "azure-authz-deployment" $place.azureAuthz.name)
  (list "bbr-namespace" $place.bbrNamespace)
  (list "bbr-deployment" $place.bbrDeployment)
  (list "node-provisioner-name" $place.nodeProvisioner.name)
  (list "node-provisioner-namespace" $place.nodeProvisioner.namespace)
  (list "stacks" $stacks)
  (list "components" ($components | default nil))
  (list "otterscale-cluster-roles" $place.otterscaleClusterRoles)
  (list "modelserving-status" (include "status-reporter.modelServingStatus" .))
  (list "metrics-bind-address" (ternary ":8080" "0" $v.metrics.enabled))
  (list "metrics-authentication" $v.metrics.authentication)
  (list "health-probe-bind-address" ":8081")
  (list "report-bind-address" $v.reportBindAddress)
  (list "report-hosts" (include "status-reporter.reportHosts" . | fromYamlArray))
  (list "leader-elect" $v.leaderElection.enabled)
  (list "leader-election-id" $v.leaderElection.id)
  (list "lease-duration-seconds" $v.leaderElection.leaseDurationSeconds)
  (list "log-level" $v.logLevel)
-}}
{{- if $v.customComponents }}
- {{ printf "--config=%s/config.yaml" (include "status-reporter.configFolder" .) | quote }}
{{- end -}}
{{- if $v.logSignatures }}
- {{ printf "--log-signatures=%s/log-signatures.yaml" (include "status-reporter.configFolder" .) | quote }}
{{- end -}}
{{- if $v.dialects }}
- {{ printf "--dialects=%s/dialects.yaml" (include "status-reporter.configFolder" .) | quote }}
{{- end -}}
{{- range $flags -}}
{{- $value := last . -}}
{{- if kindIs "map" $value -}}
{{- $pairs := list -}}
{{- range $key, $each := $value -}}
{{- $pairs = append $pairs (printf "%s=%s" $key (include "status-reporter.plain" $each)) -}}
{{- end -}}
{{- $value = join "," $pairs -}}
{{- else if kindIs "slice" $value -}}
{{- $value = join "," $value -}}
{{- end -}}
{{- $usual := and (hasKey $places (first .)) (eq (toString $value) (get $places (first .))) -}}
{{- if not (or (kindIs "invalid" $value) $usual) }}
- {{ printf "--%s=%s" (first .) (include "status-reporter.plain" $value) | quote }}
{{- end -}}
{{- end -}}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end -}}
{{- end -}}

{{/* A value as text. Helm reads numbers as floats, and would write 8388608 as 8.388608e+06. */}}
{{- define "status-reporter.plain" -}}
{{- if and (kindIs "float64" .) (eq . (floor .)) -}}
{{- int64 . -}}
{{- else -}}
{{- . -}}
{{- end -}}
{{- end -}}
