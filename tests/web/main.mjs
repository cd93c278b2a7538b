// Runs the tests of *_test.mjs one after the other. node main.mjs [PART OF A NAME]
import { readdirSync } from 'node:fs';
import { close } from './browser.mjs';

const only = process.argv[2] ?? '';
let passed = 0;
let failed = 0;
for (const file of readdirSync(new URL('.', import.meta.url)).filter((f) => f.endsWith('_test.mjs')).sort()) {
    const { default: tests } = await import(`./${file}`);
    for (const [name, run] of Object.entries(tests)) {
        if (!name.includes(only) && !file.includes(only)) continue;
        const began = Date.now();
        try {
            await run();
            passed++;
            console.log(`ok    ${name} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
        } catch (e) {
            failed++;
            console.log(`FAIL  ${name}\n${e.stack ?? e}`);
        }
    }
}
await close();
console.log(`${passed} passed, ${failed} failed, 0 skipped`);
process.exit(failed || !passed ? 1 : 0);
