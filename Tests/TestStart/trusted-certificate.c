#ifdef __linux__
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

// The half of TrustedCertificate.swift that the process of an exit test does while it has one thread.
__attribute__((constructor)) static void trust_certificate(void) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/session-tap-trust-%d/certificate.pem", getppid());
  if (access(path, R_OK) != 0 || unshare(CLONE_NEWNS) != 0) return;
  mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
  mount(path, "/etc/ssl/certs/ca-certificates.crt", NULL, MS_BIND, NULL);
}
#endif
