{{/* What the schema cannot say because it compares values. */}}
{{- define "status-reporter.checks" -}}
{{- with .Values.leaderElection -}}
{{- if and .leaseDurationSeconds .renewDeadlineSeconds .retryPeriodSeconds -}}
{{- if le (float64 .leaseDurationSeconds) (float64 .renewDeadlineSeconds) -}}
{{- fail (printf "leaderElection.leaseDurationSeconds is %v: it must be more than renewDeadlineSeconds, which is %v" .leaseDurationSeconds .renewDeadlineSeconds) -}}
{{- end -}}
{{- $shortest := mulf 1.2 .retryPeriodSeconds -}}
{{- if le (float64 .renewDeadlineSeconds) $shortest -}}
{{- fail (printf "leaderElection.renewDeadlineSeconds is %v: it must be more than 1.2 times retryPeriodSeconds, which is %v" .renewDeadlineSeconds $shortest) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
