// Every text of t() and form() has its Chinese one, and no Chinese one is left over. The placeholders agree. And what the
// charts draw from holds: the pyramid under the line of frames, lanes of values read at unequal times, words
// beside numbers, digits of an axis.
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
    for (const m of readFileSync(file, 'utf8').matchAll(/\b(?:t|form)\(\s*'((?:[^'\\]|\\.)*)'/g))
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
const part = async (entry) => {
    const outfile = `${entry.split('/').pop()}.mjs`;
    await build({ entryPoints: [`src/${entry}.ts`], outfile, bundle: true, format: 'esm', logLevel: 'error' });
    return import(pathToFileURL(outfile).href);
};
const same = (what, got, wanted) => {
    const [a, b] = [got, wanted].map((v) => JSON.stringify(v, (_, x) => (x === undefined ? 'on' : x)));
    if (a !== b) problems.push(`${what}: ${a}, not ${b}`);
};
const [{ lanesOf }, { decimals }, { t }] = [await part('lib/lanes'), await part('lib/format'), await part('lib/i18n')];
// PSS comes once a minute, the others more often; one value was out of bounds.
const { shown } = lanesOf(
    {
        hardware: [
            { name: 'pss_kb', t_us: [1e6, 61e6], value: [102400, 204800] },
            { name: 'rss_kb', t_us: [1e6], value: [307200] },
            { name: 'rss_anon_kb', t_us: [6e6, 11e6, 61e6], value: [1024, null, 2048] },
        ],
        cores: [
            { core: 0, cluster_max_khz: 2e6, t_us: [1e6, 2e6], khz: [1000000, 1500000] },
            { core: 1, cluster_max_khz: 2e6, t_us: [2e6, 3e6], khz: [1800000, null] },
            { core: 2, cluster_max_khz: 3e6, t_us: [4e6], khz: [2500000] },
        ],
    },
    '',
);
const drawn = (key) => {
    const lane = shown.find((l) => l.key === key);
    return { x: lane?.x, ...Object.fromEntries(lane?.series.map((s) => [s.name, s.y]) ?? []) };
};
same('lane of memory', drawn('memory'), {
    x: [1, 6, 11, 61],
    PSS: [100, undefined, undefined, 200],
    RSS: [300, undefined, undefined, undefined],
    RssAnon: [undefined, 1, null, 2],
});
same('lane of cores', drawn('frequency'), {
    x: [1, 2, 3, 4],
    '1 × 3.0 GHz': [undefined, undefined, undefined, 2500],
    '2 × 2.0 GHz': [1000, 1800, null, undefined],
});
same('digits', [0.01, 0.25, 0.5, 1, 2.5, 100].map(decimals), [2, 2, 1, 0, 1, 0]);
same('words', [0, '1', '1,000'].map((n) => t('{n} {n|model|models} untiered', { n })), ['0 models untiered', '1 model untiered', '1,000 models untiered']);

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
