"""Why a pod does not do what it should: one pure function, and what it is made of."""
