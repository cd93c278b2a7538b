// Makes dist/ (the page as files) and web_files.c (the same as parts of framewatchd) from src/.
//   node build.mjs [--zstd=PROGRAM]
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const zstd = (process.argv.find((a) => a.startsWith('--zstd=')) ?? '--zstd=zstd').slice(7);
const types = {
    '.html': 'text/html; charset=utf-8',
    '.js': 'text/javascript; charset=utf-8',
    '.css': 'text/css; charset=utf-8',
    '.svg': 'image/svg+xml',
    '.png': 'image/png',
    '.ico': 'image/x-icon',
    '.json': 'application/json',
    '.wasm': 'application/wasm',
    '.woff2': 'font/woff2',
    '.txt': 'text/plain; charset=utf-8',
    '.md': 'text/plain; charset=utf-8',
};
const digestOf = (bytes) => createHash('sha256').update(bytes).digest('hex').slice(0, 32);

rmSync('dist', { recursive: true, force: true });
mkdirSync('dist/assets', { recursive: true });

const result = await build({
    entryPoints: ['src/main.tsx', 'src/style.css'],
    outdir: 'dist/assets',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: ['es2020'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    metafile: true,
    legalComments: 'none',
    loader: { '.svg': 'file' },
    logLevel: 'warning',
});
writeFileSync('meta.json', JSON.stringify(result.metafile));

// The document names the bundles by their hashed names.
const outputs = Object.entries(result.metafile.outputs);
const bundle = (source) => outputs.find(([, o]) => o.entryPoint === source)[0].replace(/^dist/, '');
const main = outputs.find(([, o]) => o.entryPoint === 'src/main.tsx')[1];
const preloads = main.imports
    .filter((i) => i.kind === 'import-statement')
    .map((i) => `<link rel="modulepreload" href="${i.path.replace(/^dist/, '')}">`)
    .join('');
const icon = readFileSync('src/icon.svg');
const iconName = `/assets/icon-${digestOf(icon).slice(0, 8).toUpperCase()}.svg`;
writeFileSync(`dist${iconName}`, icon);
writeFileSync(
    'dist/index.html',
    readFileSync('src/index.html', 'utf8')
        .replace('%STYLE%', bundle('src/style.css'))
        .replace('%MAIN%', bundle('src/main.tsx'))
        .replace('%ICON%', iconName)
        .replace('<!-- preload -->', preloads),
);

// speedscope as its makers built it; it is opened with #profileURL=.
const scope = 'node_modules/speedscope/dist/release';
mkdirSync('dist/speedscope');
for (const name of readdirSync(scope))
    if (!/\.txt$|schema\.json$/.test(name)) cpSync(join(scope, name), join('dist/speedscope', name));

// Table -----------------------------------------------------------------------------------------

function walk(dir) {
    return readdirSync(dir, { withFileTypes: true }).flatMap((e) =>
        e.isDirectory() ? walk(join(dir, e.name)) : [join(dir, e.name)],
    );
}
// A coding is kept if it saves at least a tenth.
function code(path, bytes, coding) {
    const small =
        coding === 'gzip'
            ? gzipSync(bytes, { level: 9 })
            : execFileSync(zstd, ['-19', '-q', '-c', path], { maxBuffer: 64 << 20 });
    if (small.length > 0.9 * bytes.length) return null;
    const name = `${path}.${coding === 'gzip' ? 'gz' : 'zst'}`;
    writeFileSync(name, small);
    return name;
}
const root = process.cwd();
const symbols = [];
function embed(path) {
    if (!path) return '{0}';
    const name = `web_file_${symbols.length}`;
    symbols.push(`EMBED(${name}, "${root}/${path}");`);
    return `{${name}, ${readFileSync(path).length}}`;
}
const rows = walk('dist')
    .sort()
    .map((path) => {
        const bytes = readFileSync(path);
        const url = path.replace(/^dist/, '');
        const squeeze = !/\.(woff2|png|ico)$/.test(path);
        const gzip = squeeze ? code(path, bytes, 'gzip') : null;
        const zst = squeeze ? code(path, bytes, 'zstd') : null;
        const immutable = url.startsWith('/assets/') || (/^\/speedscope\/.*-[A-Z0-9]{8}\./.test(url));
        const policy = url.startsWith('/speedscope/') ? 'WEB_SPEEDSCOPE' : 'WEB_STRICT';
        return `    {"${url}", "${types[extname(path)] ?? 'application/octet-stream'}", "${digestOf(bytes)}",
     ${immutable}, ${policy}, ${embed(path)}, ${embed(gzip)}, ${embed(zst)}},`;
    });
writeFileSync(
    'web_files.c',
    `/* Made by server/web/build.mjs. */
#include "server/web/web.h"

/* The bytes of a file, by the assembler: a compiler is slow with long tables of numbers. */
#define EMBED(name, path)                                                                          \\
    extern const unsigned char name[];                                                             \\
    __asm__(".section .rodata\\n.balign 16\\n" #name ":\\n.incbin \\"" path "\\"\\n.byte 0\\n.text\\n")

${symbols.join('\n')}

const struct web_file web_files[] = {
${rows.join('\n')}
};
const size_t web_files_n = sizeof web_files / sizeof *web_files;
`,
);
const gz = (o) => gzipSync(readFileSync(o)).length;
console.log(
    `page: first load ${(
        (gz(`dist${bundle('src/main.tsx')}`) +
            main.imports
                .filter((i) => i.kind === 'import-statement')
                .reduce((sum, i) => sum + gz(i.path), 0)) /
        1000
    ).toFixed(1)} KB of scripts gz, ${rows.length} files`,
);
