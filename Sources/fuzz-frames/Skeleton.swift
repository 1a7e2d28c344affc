// Placeholder of the skeleton, replaced by the target's first real file.
