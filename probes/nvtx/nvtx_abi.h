/* nvtx_abi: what NVTX's headers, which are compiled into programs and libraries, hand to an injected library, in own words.
 *
 * Source: NVTX 3's nvtxTypes.h, nvtxInit.h and nvToolsExt.h, which keep this interface for all versions. At its first call a
 * program loads the library that NVTX_INJECTION64_PATH names, and calls its InitializeInjectionNvtx2() with a function
 * that gives tables of pointers to fill in; 0 means that nothing was taken. */
#ifndef TACHO_NVTX_ABI_H
#define TACHO_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum { NVTX_TABLE_CALLBACKS = 1, NVTX_TABLE_VERSION = 3 };
enum { NVTX_MODULE_CORE = 1, NVTX_MODULE_CORE2 = 5 };

typedef void nvtx_function(void);
typedef const void *nvtx_get_table(uint32_t which);

struct nvtx_callbacks {
	size_t size; /* of this */
	/* Gives a module's array of places for functions, and how many; 0: there is none. */
	int (*get_functions)(int module, nvtx_function ****table, unsigned *n);
};

struct nvtx_version {
	size_t size;
	uint32_t version; /* of the program's headers */
	uint32_t reserved;
	void (*set_injection_version)(uint32_t version);
};

/* Places in the arrays. */
enum nvtx_core {
	NVTX_MARK_EX = 1,
	NVTX_MARK_A,
	NVTX_MARK_W,
	NVTX_RANGE_START_EX,
	NVTX_RANGE_START_A,
	NVTX_RANGE_START_W,
	NVTX_RANGE_END,
	NVTX_RANGE_PUSH_EX,
	NVTX_RANGE_PUSH_A,
	NVTX_RANGE_PUSH_W,
	NVTX_RANGE_POP,
	NVTX_NAME_CATEGORY_A,
	NVTX_NAME_CATEGORY_W,
	NVTX_NAME_OS_THREAD_A,
	NVTX_NAME_OS_THREAD_W,
};

enum nvtx_core2 {
	NVTX_DOMAIN_MARK_EX = 1,
	NVTX_DOMAIN_RANGE_START_EX,
	NVTX_DOMAIN_RANGE_END,
	NVTX_DOMAIN_RANGE_PUSH_EX,
	NVTX_DOMAIN_RANGE_POP,
	NVTX_DOMAIN_RESOURCE_CREATE,
	NVTX_DOMAIN_RESOURCE_DESTROY,
	NVTX_DOMAIN_NAME_CATEGORY_A,
	NVTX_DOMAIN_NAME_CATEGORY_W,
	NVTX_DOMAIN_REGISTER_STRING_A,
	NVTX_DOMAIN_REGISTER_STRING_W,
	NVTX_DOMAIN_CREATE_A,
	NVTX_DOMAIN_CREATE_W,
	NVTX_DOMAIN_DESTROY,
	NVTX_INITIALIZE,
};

enum nvtx_message_type {
	NVTX_MESSAGE_NONE,
	NVTX_MESSAGE_ASCII,
	NVTX_MESSAGE_WIDE,
	NVTX_MESSAGE_REGISTERED
};

enum nvtx_payload_type {
	NVTX_PAYLOAD_NONE,
	NVTX_PAYLOAD_U64,
	NVTX_PAYLOAD_I64,
	NVTX_PAYLOAD_DOUBLE,
	NVTX_PAYLOAD_U32,
	NVTX_PAYLOAD_I32,
	NVTX_PAYLOAD_FLOAT,
};

struct nvtx_event {
	uint16_t version;
	uint16_t size; /* of this, in the program's version */
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type; /* enum nvtx_payload_type */
	int32_t reserved;
	union {
		uint64_t u64;
		int64_t i64;
		double real;
		uint32_t u32;
		int32_t i32;
		float single;
	} payload;
	int32_t message_type; /* enum nvtx_message_type */
	union {
		const char *ascii;
		const wchar_t *wide;
		const void *registered; /* as we gave it out */
	} message;
};

#endif
