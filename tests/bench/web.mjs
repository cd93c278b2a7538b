// See web.sh. Prints one line a figure: name, median, all values.
import { request } from 'node:http';
import { api, base, close, key, open, settled } from '../web/browser.mjs';

const loads = Number(process.env.FW_LOADS ?? 5);
const FRAMES = 36000;
const median = (v) => [...v].sort((a, b) => a - b)[Math.floor(v.length / 2)];
const print = (name, unit, values) =>
    console.log(`${name.padEnd(44)} ${median(values).toFixed(1).padStart(9)} ${unit}   ${values.map((v) => v.toFixed(1)).join(' ')}`);

// The session whose number of frames is nearest to 36,000 from above, analysed.
async function choose() {
    const deadline = Date.now() + 300000;
    for (;;) {
        const { items } = await api('/v1/sessions?limit=200');
        const jobs = await api('/v1/jobs?limit=200&state=ready');
        const waiting = jobs.items.some((j) => j.kind === 'part');
        const fit = items.filter((s) => s.frames >= FRAMES).sort((a, b) => a.frames - b.frames);
        if (!waiting && fit.length) return fit[0];
        if (Date.now() > deadline) throw new Error('no session of 36,000 frames');
        await new Promise((r) => setTimeout(r, 500));
    }
}

const bytesOf = (path) =>
    new Promise((resolve, reject) => {
        const r = request(base + path, { headers: { 'Accept-Encoding': 'gzip' } }, (a) => {
            let n = 0;
            a.on('data', (d) => (n += d.length));
            a.on('end', () => resolve(n));
        });
        r.on('error', reject);
        r.end();
    });

const session = await choose();
const results = { first: [], drawn: [], zoom: [], move: [], heap: [] };
let scripts;
for (let i = 0; i < loads; i++) {
    const { page, context, done } = await open({ role: 'read' });
    await settled(page);
    scripts ??= await page.evaluate(() =>
        performance.getEntriesByType('resource').filter((e) => /\/assets\/.*\.js$/.test(e.name)).map((e) => new URL(e.name).pathname),
    );
    const state = await context.storageState();
    await done();

    // another context: nothing in its cache
    const cold = await open({ role: null });
    await cold.context.addCookies(state.cookies);
    await cold.context.addInitScript((items) => items.forEach(({ name, value }) => localStorage.setItem(name, value)), state.origins[0].localStorage);
    await cold.page.goto(`${base}/sessions/${session.id}`);
    await cold.page.waitForFunction(() => performance.getEntriesByName('fw-timeline').length && document.querySelector('#janks tbody tr') && !document.querySelector('.skeleton'));
    const told = await cold.page.evaluate(async () => {
        const frame = () => new Promise((r) => requestAnimationFrame(() => setTimeout(r)));
        await frame();
        const drawn = performance.now();
        const zooms = [];
        for (const k of ['w', 'w', 'a', 'd', 's', 's', 'w', 'd', 's', '0']) {
            await frame();
            const began = performance.now();
            document.body.dispatchEvent(new KeyboardEvent('keydown', { key: k, bubbles: true }));
            await null;
            await null;
            await null;
            zooms.push(performance.now() - began);
        }
        const over = document.querySelector('.u-over');
        const box = over.getBoundingClientRect();
        const moves = [];
        for (let n = 0; n < 60; n++) {
            await frame();
            const began = performance.now();
            over.dispatchEvent(new MouseEvent('mousemove', { clientX: box.left + (box.width * n) / 60, clientY: box.top + 60, bubbles: true }));
            await new Promise((r) => requestAnimationFrame(r));
            moves.push(performance.now() - began);
        }
        const middle = (v) => v.sort((a, b) => a - b)[Math.floor(v.length / 2)];
        return { drawn, zoom: middle(zooms), move: middle(moves), heap: performance.memory?.usedJSHeapSize ?? 0 };
    });
    results.drawn.push(told.drawn);
    results.zoom.push(told.zoom);
    results.move.push(told.move);
    results.heap.push(told.heap / 1e6);
    await cold.done();
}
const sizes = await Promise.all(scripts.map(bytesOf));
print('scripts of the first page, gzip', 'KB', [sizes.reduce((a, b) => a + b, 0) / 1000]);
print(`session of ${session.frames} frames, cold, all drawn`, 'ms', results.drawn);
print('zoom, all lanes', 'ms', results.zoom);
print('cursor moved, to the next frame', 'ms', results.move);
print('heap of scripts', 'MB', results.heap);
await close();
