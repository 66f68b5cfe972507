/* torch_install: the PyTorch that a Python would import, found without importing it. */
#ifndef TACHO_TORCH_INSTALL_H
#define TACHO_TORCH_INSTALL_H

#include <glib.h>

typedef struct {
	gchar *python;	/* the interpreter that was asked */
	gchar *version; /* of PyTorch, "" where it does not say */
	gchar *library; /* its libtorch_cpu.so */
	gchar *include; /* the folder of its C++ headers, NULL: they are not installed */
} TorchInstall;

/* What `python` (a name on the PATH, or a path) would import; NULL: no PyTorch, or no Python. */
TorchInstall *torch_install_of_python(const gchar *python);

/* The same for the first Python on the PATH that has PyTorch. */
TorchInstall *torch_install_on_path(void);

void torch_install_free(TorchInstall *install);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TorchInstall, torch_install_free)

#endif
