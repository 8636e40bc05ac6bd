"""What LLMInferenceServices should be, by KServe's rules; pure."""
