"""Collecting: only what may be used is kept, and an archive cannot write where it likes."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from training.collect import Wanted, is_excluded, mentioned, take, wanted
from training.collect_licence import (
    from_text,
    has_copyleft_head,
    of_debian,
    of_npm,
    of_origin,
    of_wheel,
    permissive,
)
from training.collect_unpack import MAX_FILE_BYTES, is_wanted, safe_path, unpack

SOURCE = b"def half(number):\n    return number / 2\n"


def make_tar(path: Path, files: dict[str, bytes], links: dict[str, str] | None = None) -> Path:
    with tarfile.open(path, "w:gz") as packed:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            packed.addfile(member, io.BytesIO(data))
        for name, target in (links or {}).items():
            for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                member = tarfile.TarInfo(name)
                member.type, member.linkname = kind, target
                packed.addfile(member)
    return path


def make_wheel(path: Path, licence: str) -> Path:
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("maths/half.py", SOURCE)
        packed.writestr("maths-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: maths\n{licence}\n\nText.\n")
    return path


def never(_path: str) -> bool:
    return False


def test_an_archive_cannot_write_outside(tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    archive = make_tar(
        tmp_path / "evil.tgz",
        {
            "../outside.py": b"bad",
            str(outside): b"bad",
            "a/../../outside.py": b"bad",
            "link.py/x.py": b"bad",
            "ok/fine.py": SOURCE,
        },
        links={"link.py": str(tmp_path), "ok/secret.py": "/etc/passwd"},
    )
    target = tmp_path / "deep" / "target"
    unpack([archive], target, never)
    assert not outside.exists()
    assert not any(path.is_symlink() for path in tmp_path.rglob("*"))
    written = {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()}
    assert written == {"ok/fine.py", "link.py/x.py"}  # a folder of that name, inside the target


def test_links_in_a_zip_are_left_out(tmp_path: Path) -> None:
    archive = tmp_path / "a.whl"
    with zipfile.ZipFile(archive, "w") as packed:
        link = zipfile.ZipInfo("evil.py")
        link.external_attr = 0o120777 << 16
        packed.writestr(link, "/etc/passwd")
        packed.writestr("good.py", SOURCE)
    unpack([archive], tmp_path / "out", never)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["good.py"]


def test_large_files_are_left_out(tmp_path: Path) -> None:
    archive = make_tar(tmp_path / "a.tgz", {"huge.py": b"x = 1\n" * (MAX_FILE_BYTES // 5), "small.py": SOURCE})
    unpack([archive], tmp_path / "out", never)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["small.py"]


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../x.py", "a/../../x.py", "a\\b.py", "a/\0.py", ".git/config.py", "", "."]
)
def test_unsafe_names(name: str) -> None:
    assert safe_path(name) is None


def test_what_is_wanted() -> None:
    assert is_wanted("src/a.go")
    assert is_wanted("README.md")
    assert not is_wanted("a.png")
    assert not is_wanted("types/a.d.ts")
    assert not is_wanted("dist/a.min.js")


@pytest.mark.parametrize(
    "expression",
    [
        "MIT",
        "Apache-2.0 OR GPL-3.0",
        "BSD-3-clause",
        "Expat",
        "(MIT AND Zlib)",
        "Apache License, Version 2.0",
        "ISC License",
        "MIT/X11",
        "Apache-2.0 WITH LLVM-exception",
        "Python Software Foundation License",
        "Unlicense",
        "BSL-1.0",
    ],
)
def test_permissive_licences(expression: str) -> None:
    assert permissive(expression)


@pytest.mark.parametrize(
    "expression", ["GPL-2+", "MIT and GPL-3", "MPL-2.0", "LGPL-2.1", "", "SEE LICENSE IN x", "AGPL-3.0", "EPL-1.0"]
)
def test_other_licences(expression: str) -> None:
    assert not permissive(expression)


def test_the_licence_of_a_wheel() -> None:
    assert of_wheel("License-Expression: MIT\n")
    assert of_wheel("Classifier: License :: OSI Approved :: Apache Software License\n")
    assert not of_wheel("License: MIT\nClassifier: License :: OSI Approved :: GNU General Public License v3 (GPLv3)\n")
    assert not of_wheel("Name: silent\n")
    assert of_wheel("Name: text\n", "Permission is hereby granted, free of charge, to any person")


def test_the_licence_of_an_npm_package() -> None:
    assert of_npm(json.dumps({"license": "MIT"})) == "MIT"
    assert of_npm(json.dumps({"licenses": [{"type": "Apache-2.0"}, {"type": "GPL-2.0"}]}))
    assert not of_npm(json.dumps({"license": "UNLICENSED"}))
    assert not of_npm("no json")


COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: half

Files: *
Copyright: 2020 A
License: Expat

Files: src/gpl/*
 tools/x.c
Copyright: 2020 B
License: GPL-2+

License: Expat
 Permission is hereby granted, free of charge, ...
"""


def test_the_licence_of_a_debian_package_by_file() -> None:
    licence, forbidden = of_debian(COPYRIGHT)
    assert licence == "Expat"
    assert forbidden("src/gpl/a.c")
    assert forbidden("tools/x.c")
    assert not forbidden("src/main.c")
    assert of_debian(COPYRIGHT.replace("License: Expat\n\nFiles", "License: GPL-3\n\nFiles"))[0] == ""


def test_a_free_text_with_both_is_not_taken() -> None:
    assert from_text("Redistribution and use in source and binary forms, with or without") == "BSD"
    assert from_text("Redistribution and use in source and binary forms. See the GNU General Public License.") == ""


def test_the_licence_of_an_upstream_archive() -> None:
    assert of_origin({"DESCRIPTION": "Package: half\nLicense: MIT + file LICENSE\n", "LICENSE": "YEAR: 2020"})
    assert of_origin({"DESCRIPTION": "Package: half\nLicense: BSD_3_clause + file LICENSE\n"})
    assert not of_origin({"DESCRIPTION": "Package: half\nLicense: GPL (>= 2)\n"})
    assert of_origin({"LICENSE": "Permission is hereby granted, free of charge, to any person"}) == "MIT"
    assert not of_origin(
        {"LICENSE": "Permission is hereby granted, free of charge", "COPYING": "GNU GENERAL PUBLIC LICENSE"}
    )
    assert not of_origin({})


def test_a_file_under_another_licence_is_left_out(tmp_path: Path) -> None:
    head = b"/* This program is free software under the GNU General Public License */\n"
    assert has_copyleft_head(head.decode())
    assert has_copyleft_head("// SPDX-License-Identifier: GPL-2.0-only")
    assert not has_copyleft_head("// SPDX-License-Identifier: GPL-2.0 OR MIT")
    assert not has_copyleft_head("// Permission is hereby granted, free of charge")
    archive = make_tar(
        tmp_path / "a.tgz", {"a.c": head + b"int a(void) { return 1; }\n", "b.c": b"int b(void) { return 1; }\n"}
    )
    unpack([archive], tmp_path / "out", never)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["b.c"]


def test_a_debian_source_without_debians_part(tmp_path: Path) -> None:
    code = b"half <- function(n) n / 2\n"
    origin = make_tar(
        tmp_path / "r-cran-half_1.0.orig.tar.gz",
        {"half/DESCRIPTION": b"Package: half\nLicense: MIT + file LICENSE\n", "half/R/half.R": code},
    )
    line = take(Wanted("debian-source", "r-cran-half", "r"), [origin], tmp_path, [])
    assert (line.licence, line.dropped, line.languages) == ("MIT + file LICENSE", "", {"r": 1})


def test_excluded_by_name_and_by_origin() -> None:
    assert is_excluded("Django_rest", ["django", "django-*"])
    assert not is_excluded("djangology", ["django", "django-*"])
    metadata = {"package.json": '{"repository": {"url": "git+https://example.org/axios/axios.git"}}'}
    assert mentioned(metadata, ["curl/curl", "axios/axios"]) == "axios/axios"
    assert mentioned({"METADATA": "Home-page: https://example.org/psf/requests-html"}, ["psf/requests"]) == ""
    assert mentioned({"METADATA": "Summary: works like axios/axios"}, ["axios/axios"]) == ""


def test_wanted_leaves_out_excluded_and_siblings_of_the_held_out() -> None:
    table = {
        "exclude": {"names": ["librust-tokio-*"]},
        "group": [
            {
                "registry": "debian",
                "language": "rust",
                "patterns": ["librust-*-dev"],
                "max_mb": 2,
                "heldout": ["librust-chrono-dev"],
            }
        ],
    }
    names = [
        "librust-chrono-dev",
        "librust-chrono-0.3-dev",
        "librust-tokio-dev",
        "librust-big-dev",
        "librust-a-dev",
        "librust-a+b-dev",
    ]
    index = {"debian": {name: ("rust", 5.0 if "big" in name else 0.1) for name in names}}
    assert [(item.name, item.heldout) for item in wanted(table, index)] == [
        ("librust-chrono-dev", True),
        ("librust-a-dev", False),
    ]


def test_take_a_wheel(tmp_path: Path) -> None:
    item = Wanted("pypi", "maths", "python")
    good = make_wheel(tmp_path / "maths-1.0-py3-none-any.whl", "License: MIT")
    line = take(item, [good], tmp_path, [])
    assert (line.version, line.licence, line.dropped, line.languages) == ("1.0", "MIT", "", {"python": 1})
    assert (tmp_path / "sources/pypi/maths/maths/half.py").read_bytes() == SOURCE

    bad = make_wheel(tmp_path / "maths-2.0-py3-none-any.whl", "License: GPL-3")
    assert take(item, [bad], tmp_path, []).dropped == "licence"
    assert not (tmp_path / "sources/pypi/maths").exists()

    vendored = make_wheel(
        tmp_path / "maths-3.0-py3-none-any.whl", "License: MIT\nHome-page: https://example.org/psf/requests"
    )
    assert take(item, [vendored], tmp_path, ["psf/requests"]).dropped == "excluded: psf/requests"


def test_take_an_npm_package(tmp_path: Path) -> None:
    archive = make_tar(
        tmp_path / "scope-half-1.2.3.tgz",
        {
            "package/package.json": b'{"license": "ISC"}',
            "package/node_modules/x/package.json": b'{"license": "GPL-3.0"}',
            "package/half.js": b"export const half = n => n / 2\n",
        },
    )
    line = take(Wanted("npm", "@scope/half", "javascript"), [archive], tmp_path, [])
    assert (line.version, line.licence, line.languages) == ("1.2.3", "ISC", {"javascript": 1})
    assert (tmp_path / "sources/npm/@scope+half/package/half.js").exists()


def test_take_a_debian_source_by_file_licence(tmp_path: Path) -> None:
    debian = make_tar(tmp_path / "half_1.0-1.debian.tar.gz", {"debian/copyright": COPYRIGHT.encode()})
    code = b"int half(int n) { return n / 2; }\n"
    origin = make_tar(tmp_path / "half_1.0.orig.tar.gz", {"half-1.0/src/main.c": code, "half-1.0/src/gpl/a.c": code})
    line = take(Wanted("debian-source", "half", "c"), [debian, origin], tmp_path, [])
    assert (line.version, line.licence, line.languages) == ("1.0", "Expat", {"c": 1})


def test_nothing_downloaded_is_said(tmp_path: Path) -> None:
    assert take(Wanted("npm", "ghost", "javascript"), [], tmp_path, []).dropped == "not found"
