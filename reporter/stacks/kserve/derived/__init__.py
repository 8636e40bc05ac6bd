"""The status of an InferenceService by KServe's own rules.

The rules are those of github.com/kserve/kserve,
pkg/apis/serving/v1beta1/inference_service_status.go, and of the controller in
pkg/controller/v1beta1/inferenceservice, v0.20.0. Conditions follow github.com/knative/pkg,
apis/condition_set.go.
"""
