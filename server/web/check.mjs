// Every text of t() has its Chinese one, and no Chinese one is left over. The placeholders agree. And the
// pyramid under the line of frames tells what looking at each value would.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const files = (dir) =>
    readdirSync(dir, { withFileTypes: true }).flatMap((e) =>
        e.isDirectory() ? files(join(dir, e.name)) : /\.tsx?$/.test(e.name) ? [join(dir, e.name)] : [],
    );
const used = new Map();
for (const file of files('src'))
    for (const m of readFileSync(file, 'utf8').matchAll(/\bt\(\s*'((?:[^'\\]|\\.)*)'/g))
        used.set(m[1].replace(/\\n/g, '\n').replace(/\\'/g, "'"), file);

await build({ entryPoints: ['src/zh.ts'], outfile: 'zh.mjs', format: 'esm', logLevel: 'error' });
const { default: texts } = await import(pathToFileURL('zh.mjs').href);
const problems = [];
for (const [text, file] of used) {
    const chinese = texts[text];
    if (chinese === undefined) problems.push(`missing  ${file}: ${text}`);
    else if ([...text.matchAll(/\{\w+\}/g)].map(String).sort().join() !== [...chinese.matchAll(/\{\w+\}/g)].map(String).sort().join())
        problems.push(`differs  ${text} / ${chinese}`);
}
for (const text of Object.keys(texts)) if (!used.has(text)) problems.push(`unused   ${text}`);

await build({ entryPoints: ['src/charts/frames.ts'], outfile: 'frames.mjs', format: 'esm', logLevel: 'error' });
const { lowerBound, Pyramid } = await import(pathToFileURL('frames.mjs').href);
let seed = 1;
const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
for (const n of [1, 7, 8, 9, 64, 65, 513, 5000]) {
    const values = Float32Array.from({ length: n }, () => random(1000));
    const sorted = Float32Array.from(values).sort();
    const pyramid = new Pyramid(values);
    for (let i = 0; i < 200; i++) {
        const from = random(n);
        const to = from + 1 + random(n - from);
        const part = values.subarray(from, to);
        if (String(pyramid.range(from, to)) !== String([Math.min(...part), Math.max(...part)])) problems.push(`pyramid  ${n} values, ${from} to ${to}`);
        const value = random(1001);
        const at = sorted.findIndex((v) => v >= value);
        if (lowerBound(sorted, value) !== (at < 0 ? n : at)) problems.push(`bound    ${n} values, ${value}`);
    }
}

await build({ entryPoints: ['src/lib/memory.ts'], outfile: 'memory.mjs', format: 'esm', logLevel: 'error' });
const { memoryKinds, memoryOf } = await import(pathToFileURL('memory.mjs').href);
const phones = ['ios', 'android', 'linux', 'ios'].map((platform, i) => ({ platform, peak_memory_kb: i < 3 ? 1000 + i : null }));
const columns = memoryKinds(phones).map((kind) => `${kind}: ${phones.map((p) => memoryOf(p, kind)).join()}`);
if (columns.join('; ') !== 'pss: ,1001,,; footprint: 1000,,,; rss: ,,1002,') problems.push(`memory   ${columns.join('; ')}`);
if (String(memoryKinds([phones[3]])) !== 'pss') problems.push('memory   no column where none is told');

if (process.argv.includes('--list')) console.log(JSON.stringify([...used.keys()].filter((text) => texts[text] === undefined)));
else for (const p of problems) console.error(p);
console.log(`${used.size} texts, ${problems.length} problems`);
process.exit(problems.length ? 1 : 0);
