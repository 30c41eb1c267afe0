"""Files that are skipped by their name: lock files, binary formats, generated and minified code.

Tables only; no file is read. Names are compared in lower case.
"""

from __future__ import annotations

from sage_code.values import SkipReason


def _words(table: str) -> frozenset[str]:
    return frozenset(table.split())


LOCKFILES = _words("""
    package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb deno.lock
    poetry.lock uv.lock pdm.lock pipfile.lock pixi.lock conda-lock.yml
    cargo.lock go.sum go.work.sum composer.lock gemfile.lock podfile.lock package.resolved pubspec.lock
    mix.lock rebar.lock flake.lock packages.lock.json paket.lock gradle.lockfile .terraform.lock.hcl
    cartfile.resolved stack.yaml.lock cabal.project.freeze conan.lock
""")

# Without suffixes that text files have too (.key, .model, .com, .max, .ai, .dat).
BINARY_SUFFIXES = _words("""
    png jpg jpeg gif bmp ico icns webp avif heic tif tiff psd xcf eps svg svgz cur dds tga exr hdr
    ttf otf woff woff2 eot pfb
    zip gz tgz bz2 tbz xz txz zst lz4 7z rar tar jar war ear whl egg nupkg deb rpm dmg iso img apk aab ipa
    crx vsix gem crate br lzma cab msi
    mp3 mp4 m4a m4v wav ogg oga ogv flac aac wma wmv avi mov mkv webm mpg mpeg flv mid midi opus
    o obj a so lib dll dylib exe bin elf ko pdb class pyc pyo pyd pyz wasm beam dex rlib rmeta node
    pdf doc docx xls xlsx ppt pptx odt ods odp epub mobi rtf
    sqlite sqlite3 db db3 mdb accdb dbf ldb sst realm rdb parquet arrow feather orc avro
    pt pth ckpt safetensors onnx tflite pb h5 hdf5 keras gguf ggml npy npz pkl pickle joblib caffemodel mlmodel
    blend fbx glb gltf stl 3ds unitypackage uasset umap pak swf fla
    gpg pgp p12 pfx jks keystore der kdbx
    pcap pcapng mo gmo nib xcuserstate suo ds_store swp swo
""")

MINIFIED_ENDINGS = (".min.js", ".min.mjs", ".min.cjs", ".min.css", ".min.html", "-min.js", "-min.css")

GENERATED_ENDINGS = (
    ".map", "_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi", ".pb.go", "_grpc.pb.go", ".pb.gw.go",
    ".pb.cc", ".pb.h", ".pb.swift", ".pb.validate.go", "_pb.js", "_pb.d.ts", "_pb.ts", "_pb.rb",
    ".g.dart", ".freezed.dart", ".gr.dart", ".pb.dart", ".pbenum.dart", ".pbjson.dart",
    ".designer.cs", ".designer.vb", ".g.cs", ".g.i.cs", ".generated.cs",
    "_generated.go", ".generated.go", ".gen.go", "zz_generated.deepcopy.go",
    ".generated.ts", ".generated.tsx", ".generated.js", ".gen.ts", ".tsbuildinfo",
    ".bundle.js", ".chunk.js", ".snap", ".ambr",
)  # fmt: skip


def reason_by_name(name: str) -> SkipReason | None:
    """Why a file of this name is skipped unread; None when it must be read."""
    name = name.lower()
    if name in LOCKFILES:
        return SkipReason.LOCKFILE
    if "." in name and name.rpartition(".")[2] in BINARY_SUFFIXES:
        return SkipReason.BINARY
    if name.endswith(MINIFIED_ENDINGS):
        return SkipReason.MINIFIED
    if name.endswith(GENERATED_ENDINGS):
        return SkipReason.GENERATED
    return None
