"""Definitions around macros that C's grammar cannot read are found, and nothing else."""

from __future__ import annotations

import pytest

from sage_code.languages.table import by_name
from sage_code.parse.definitions import parse

# Code of real projects (git, redis, jemalloc, libgit2, zlib, curl), with the symbols that it defines.
CASES = {
    "a word between type and name": (
        "static state_t *\ninternal_function\nacquire (int *err)\n{\n  return 0;\n}\n",
        ["function acquire 3"],
    ),
    "an old attribute": (
        "static int\ninternal_function __attribute ((pure))\ncontains (const node *set, int e)\n{\n  return e;\n}\n",
        ["function contains 3"],
    ),
    "definitions by macro": (
        'static PATH_FUNC(path_names, "NAMES")\nstatic PATH_FUNC(path_run, "RUN")\n\nint\nmain (void)\n{\n}\n',
        ["function main 5"],
    ),
    "function pointers": (
        "EXPORT_API String * (*Mod_Hold)(Ctx *ctx) API_ATTR;\nEXPORT_API int (*Mod_Compare)(Ctx *a) API_ATTR;\n",
        ["variable Mod_Hold 1", "variable Mod_Compare 2"],
    ),
    "types of callbacks": (
        "typedef int LIB_CALLBACK(hide_cb)(\n\tint i);\ntypedef int (WINAPI *open_fn)(\n\tHANDLE /* H */ h);\n",
        ["type hide_cb 1", "type open_fn 3"],
    ),
    "a type by macro": (
        "typedef list_head(item_t) list_t;\nstatic list_t all = head(all);\n",
        ["type list_t 1", "variable all 2"],
    ),
    "a function by macros": (
        "MAL_EXPORT MAL_ALLOCATOR MAL_RETURN\nvoid MAL_NOTHROW *\nMAL_SIZE(2)\nmal_calloc(size_t n) {\n}\n",
        ["function mal_calloc 4"],
    ),
    "prototypes": (
        "ZEXTERN z_off_t ZEXPORT gztell(gzFile);\nvoid ZLIB_INTERNAL init(state *s);\nint x;\n",
        ["variable x 3"],
    ),
    "variables": (
        "int ZLIB_INTERNAL verbose = 0;\nlocal ptr_table table[9];\n",
        ["variable verbose 1", "variable table 2"],
    ),
    "several in a row": (
        "MAL_PUSH\nMAL_IGNORE\n\nMAL_EXPORT size_t MAL_NOTHROW\nmal_size(const void *p) {\n}\nMAL_POP\n",
        ["function mal_size 5"],
    ),
    "inside a struct": (
        "struct tsd_s {\n\ttsd_state_t state;\n\tTSD_FAST\n\tTSD_SLOW\n};\nenum { ONE_A,\n  TWO_B\n};\n",
        ["struct tsd_s 1", "field tsd_s.state 2", "constant ONE_A 6", "constant TWO_B 7"],
    ),
    "first in a struct": (
        "struct tcp_s {\n  UV_FIELDS\n  UV_MORE(x)\n  connect_cb cb;\n};\n",
        ["struct tcp_s 1", "field tcp_s.cb 4"],
    ),
    "enumerators": (
        "enum {\n  OPT(M_SOCKET, OPT_LONG, 3),\n  /* b */\n  OPT(M_TIMER, OPT_LONG, 4),\n  M_LAST\n};\nEND_DECLS\n",
        ["constant M_SOCKET 2", "constant M_TIMER 4", "constant M_LAST 5"],
    ),
    "types like macros": (
        "static volatile LONG status = NOT_STARTED;\nconst uch ZLIB_INTERNAL codes[9] = { 0 };\n",
        ["variable status 1", "constant codes 2"],
    ),
    "a call that defines": ("rb_gen(static UNUSED, tree_, node_t,\n    node_cmp);\nint done;\n", ["variable done 3"]),
    "a call without a semicolon": (
        "int a;\n\nrb_gen(static UNUSED, tree_, node_t,\n    cmp)\n\nint b;\n",
        ["variable a 1", "variable b 6"],
    ),
    "a variable by macro": ("DECLARE_MODULE(curl) =\n{\n  1\n};\nint (*f)(int) = g;\n", ["variable f 5"]),
    "a function by macro": ("TEST_IMPL(poll) {\n#ifdef X\n  int r;\n#endif\n}\nint done;\n", ["variable done 6"]),
    "a call before the name": (
        "static inline const char * FORMAT_ARG(3)\ngen_fmt(char *out) {\n}\n",
        ["function gen_fmt 2"],
    ),
    "statements without semicolons": (
        "void print(int i) {\n\tHEADER(a)\n\tHEADER(b)\n\tHEADER(c)\n\tHEADER(d)\n\tHEADER(e)\n\tif (i) {}\n}\n",
        ["function print 1"],
    ),
    "strings by name": (
        "static const char names[] =\n  STRING_a0\n  STRING_b0 STRING_c;\nint done;\n",
        ["constant names 1", "variable done 4"],
    ),
    "a comment behind a definition": (
        "#define FLAG (1<<2) /* while a\n  command, call()\n  a user */\nEXPORT_API int f(int a) {\n}\nEND_DECLS\n",
        ["constant FLAG 1", "function f 4"],
    ),
    "branches that close each other": (
        "int f(int a) {\n  if (a) {\n#if A\n  } else {\n#elif B\n  } else {\n#endif\n  }\n  if (a) {}\n}\nint done;\n",
        ["function f 1", "variable done 11"],
    ),
    "a comment that goes on": (
        "#define GET(n) \\\nget(tsd_t *tsd) { \\\n /* \\\n  * isn't \\\n  */ \\\n int s = f(tsd); \\\n}\nint after;\n",
        ["macro GET 1", "variable after 8"],
    ),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_definitions_around_macros_are_found(text: str, expected: list[str]) -> None:
    c = by_name("c")
    assert c is not None
    found = parse(text.encode(), c)
    assert found is not None
    assert [f"{symbol.kind} {symbol.qualname} {symbol.line}" for symbol in found.symbols] == expected
