#define _GNU_SOURCE
#include "TestStart.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>

// Not in Swift: its module of glibc lacks the two actions that are not in POSIX.
int start_program(
    const char *path, char *const words[], char *const variables[], const char *input, int output, const char *folder) {
#ifdef __GLIBC__
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_adddup2(&actions, output, 2);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  if (folder) posix_spawn_file_actions_addchdir_np(&actions, folder);
  pid_t id;
  int error = posix_spawn(&id, path, &actions, NULL, words, variables);
  posix_spawn_file_actions_destroy(&actions);
  return error ? -error : id;
#else
  return -ENOSYS;
#endif
}
