// Every text of t() has its Chinese one, and no Chinese one is left over. The placeholders agree.
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
if (process.argv.includes('--list')) console.log(JSON.stringify([...used.keys()].filter((text) => texts[text] === undefined)));
else for (const p of problems) console.error(p);
console.log(`${used.size} texts, ${problems.length} problems`);
process.exit(problems.length ? 1 : 0);
