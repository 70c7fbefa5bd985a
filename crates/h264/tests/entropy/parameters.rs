//! ffprobe reads what parameter sets say.
