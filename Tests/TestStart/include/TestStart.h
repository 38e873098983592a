/// Refuses the next starts of threads with EAGAIN, as a limit of tasks does; a negative count refuses all. Only those with default
/// attributes, as BackgroundThread starts them: Dispatch blocks its caller until it gets a thread.
void refuse_threads(int count);
