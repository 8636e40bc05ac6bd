"""Why a pod does not work: one pure function, `pod.diagnose`, and its parts."""
