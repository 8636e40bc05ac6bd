"""The status of an InferenceService by KServe's own rules (KServe sheet, sections 1 to 3)."""
