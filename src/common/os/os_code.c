/* Code that was needed once. */
#include "os/os.h"

#if defined(__linux__)

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

/* Pages of a segment that nobody can write: the kernel reads them again from the file, or from its cache of it. */
static int release_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	(void)size;
	(void)arg;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t begin = (info->dlpi_addr + p->p_vaddr + page - 1) & ~(page - 1);
		uintptr_t end = (info->dlpi_addr + p->p_vaddr + p->p_memsz) & ~(page - 1);

		if (p->p_type == PT_LOAD && !(p->p_flags & PF_W) && end > begin)
			(void)madvise((void *)begin, end - begin, MADV_DONTNEED);
	}
	return 0;
}

void os_release_code(void)
{
	dl_iterate_phdr(release_object, NULL);
}

#else

void os_release_code(void)
{
}

#endif
