// The TypeScript compiler's language service as the referee of `references.py`: a JSON line in, a JSON line out.
//
//     node benchmarks/referee_typescript.mjs FOLDER_WITH_TYPESCRIPT PROJECT_FOLDER [SUBFOLDER ...]
//
//     {"op": "functions"}                            every function and method: [[file, line, column, qualname], ...]
//     {"op": "callers", "at": [file, line, column]}  where it is called: [[file, line], ...]
//     {"op": "goto", "at": [file, line, name]}       what `name` on that line means: [[file, line], ...]

import { createRequire } from "node:module"
import fs from "node:fs"
import path from "node:path"
import readline from "node:readline"

const [home, folder, ...subfolders] = process.argv.slice(2)
const ts = createRequire(path.resolve(home, "package.json"))("typescript")
const root = path.resolve(folder)

const skipped = new Set(["node_modules", ".git", "build", "dist"])
const files = []
const collect = (directory) => {
    for (const entry of fs.readdirSync(directory, { withFileTypes: true })) {
        const full = path.join(directory, entry.name)
        if (entry.isDirectory() && !skipped.has(entry.name)) collect(full)
        else if (/\.tsx?$/.test(entry.name) && !entry.name.endsWith(".d.ts")) files.push(full)
    }
}
for (const subfolder of subfolders.length ? subfolders : ["."]) collect(path.join(root, subfolder))
files.sort()

const tsconfig = path.join(root, "tsconfig.json")
const options = {
    ...(fs.existsSync(tsconfig) ? ts.readConfigFile(tsconfig, ts.sys.readFile).config.compilerOptions : {}),
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    experimentalDecorators: true,
    types: [],
    baseUrl: root,
}
for (const name of ["extends", "outDir", "lib", "importHelpers"]) delete options[name]

const snapshots = new Map()
const service = ts.createLanguageService({
    getScriptFileNames: () => files,
    getScriptVersion: () => "1",
    getScriptSnapshot: (file) => {
        if (!snapshots.has(file))
            snapshots.set(file, fs.existsSync(file) ? ts.ScriptSnapshot.fromString(fs.readFileSync(file, "utf8")) : undefined)
        return snapshots.get(file)
    },
    getCurrentDirectory: () => root,
    getCompilationSettings: () => options,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
    readDirectory: ts.sys.readDirectory,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
})

const relative = (file) => path.relative(root, file)
const source = (file) => service.getProgram().getSourceFile(file)
const place = (file, position) => [relative(file), source(file).getLineAndCharacterOfPosition(position).line + 1]

function functions() {
    const found = []
    for (const file of files) {
        const walk = (node, prefix) => {
            let inner = prefix
            const named = node.name && (ts.isIdentifier(node.name) || ts.isPrivateIdentifier(node.name))
            if (named && (ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node))) inner = `${prefix}${node.name.text}.`
            const value = ts.isVariableDeclaration(node) && node.initializer
            const isFunction =
                ts.isFunctionDeclaration(node) ||
                ts.isMethodDeclaration(node) ||
                (value && (ts.isArrowFunction(value) || ts.isFunctionExpression(value)))
            const inLiteral = ts.isMethodDeclaration(node) && !ts.isClassDeclaration(node.parent)
            if (named && isFunction && !inLiteral && (node.body || value)) {
                const start = source(file).getLineAndCharacterOfPosition(node.name.getStart())
                found.push([relative(file), start.line + 1, start.character, prefix + node.name.text])
                inner = `${prefix}${node.name.text}.`
            }
            ts.forEachChild(node, (child) => walk(child, inner))
        }
        walk(source(file), "")
    }
    return found
}

function isCalled(file, position) {
    let node = ts.getTokenAtPosition(source(file), position)
    if (ts.isPropertyAccessExpression(node.parent) && node.parent.name === node) node = node.parent
    while (ts.isNonNullExpression(node.parent) || ts.isParenthesizedExpression(node.parent)) node = node.parent
    const parent = node.parent
    const calls = ts.isCallExpression(parent) || ts.isNewExpression(parent) || ts.isDecorator(parent)
    return calls && parent.expression === node
}

// A class, and every class and interface above it.
function lineage(declaration, seen = new Set()) {
    if (seen.has(declaration)) return seen
    seen.add(declaration)
    const checker = service.getProgram().getTypeChecker()
    for (const clause of declaration.heritageClauses ?? [])
        for (const type of clause.types)
            for (const above of checker.getTypeAtLocation(type).symbol?.declarations ?? []) lineage(above, seen)
    return seen
}

// findReferences follows a whole family of implementations: asked about one driver's `connect`, it also gives
// `this.connect()` in another driver, which can never reach the first. A call counts when what it names is the
// function itself or a member of a type above it.
function reaches(file, position, declaration, owners) {
    const checker = service.getProgram().getTypeChecker()
    let symbol = checker.getSymbolAtLocation(ts.getTokenAtPosition(source(file), position))
    if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol)
    return (symbol?.declarations ?? []).some((found) => found === declaration || owners.has(found.parent))
}

function callers(file, line, column) {
    const full = path.join(root, file)
    const position = source(full).getPositionOfLineAndCharacter(line - 1, column)
    const declaration = ts.getTokenAtPosition(source(full), position).parent
    const owners = ts.isMethodDeclaration(declaration) ? lineage(declaration.parent) : new Set([declaration.parent])
    const found = []
    for (const symbol of service.findReferences(full, position) ?? [])
        for (const { fileName, textSpan, isDefinition } of symbol.references)
            if (!isDefinition && isCalled(fileName, textSpan.start) && reaches(fileName, textSpan.start, declaration, owners))
                found.push(place(fileName, textSpan.start))
    return found
}

function goto(file, line, name) {
    const full = path.join(root, file)
    const start = source(full).getPositionOfLineAndCharacter(line - 1, 0)
    const text = source(full).text.slice(start).split("\n", 1)[0]
    const found = []
    for (const match of text.matchAll(new RegExp(`\\b${name.replace(/\W/g, "\\$&")}\\b`, "g")))
        for (const { fileName, textSpan } of service.getDefinitionAtPosition(full, start + match.index) ?? [])
            found.push(place(fileName, textSpan.start))
    return found
}

const answers = { functions, callers, goto }
for await (const line of readline.createInterface({ input: process.stdin })) {
    const { op, at = [] } = JSON.parse(line)
    let answer = null
    try {
        answer = answers[op](...at)
    } catch (error) {
        process.stderr.write(`${op} ${at}: ${error}\n`)
    }
    process.stdout.write(JSON.stringify(answer) + "\n")
}
