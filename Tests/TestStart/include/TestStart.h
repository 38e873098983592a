#include <stddef.h>
/// Refuses the next starts of threads with EAGAIN, as a limit of tasks does; a negative count refuses all. Only those with default
/// attributes, as BackgroundThread starts them: Dispatch blocks its caller until it gets a thread.
void refuse_threads(int count);

/// The bytes that malloc has given out, in all of its arenas. 0 where the C library does not tell.
size_t memory_in_use(void);

/// Refuses the next connections that an endpoint accepts with EMFILE, as a process without descriptors does; a negative count refuses
/// all.
void refuse_connections(int count);

/// Lets fsync(2) of a folder fail with an error, as that of a disk does; 0 refuses none.
void refuse_synchronization_of_folders(int error);

/// Starts a program that has an input, one output for both of its streams, and no other descriptor. Returns its id, or a negative
/// error number.
int start_program(
    const char *path, char *const words[], char *const variables[], const char *input, int output, const char *folder);
