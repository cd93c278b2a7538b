// A browser and what all tests of the page share.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(`${process.env.FW_MODULES}/x.js`);
const { chromium } = await import(pathToFileURL(require.resolve('playwright-core')).href.replace('index.js', 'index.mjs'));
export const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

export const base = process.env.FW_URL;
export const key = (role) => readFileSync(`${process.env.FW_KEYS}/${role}`, 'utf8').trim();
// Nothing here is meant to take long; a limit only ends what hangs.
export const LIMIT_MS = 60000;

const browser = await chromium.launch({
    executablePath: process.env.FW_CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--force-color-profile=srgb', '--font-render-hinting=none'],
});
export const close = () => browser.close();

// A context with an eye on everything that a page must not do.
export async function open({ role = 'admin', width = 1440, height = 900, theme = 'light', lang = 'en' } = {}) {
    const context = await browser.newContext({
        viewport: { width, height },
        colorScheme: theme,
        locale: lang === 'zh' ? 'zh-CN' : 'en-GB',
        timezoneId: 'UTC',
        reducedMotion: 'reduce',
    });
    context.setDefaultTimeout(LIMIT_MS);
    const complaints = [];
    const follow = (page) => {
        page.on('console', (m) => {
            if (m.type() === 'error' || /Content.Security.Policy/i.test(m.text())) complaints.push(`${page.url()}: ${m.text()}`);
        });
        page.on('pageerror', (e) => complaints.push(`${page.url()}: ${e.message}`));
    };
    context.on('page', follow);
    const page = await context.newPage();
    if (role) {
        await page.goto(`${base}/login`);
        await page.fill('input[name=key]', key(role));
        await page.click('button.primary');
        await page.waitForURL('**/sessions');
    }
    return { context, page, complaints, done: () => context.close() };
}

// Nothing is loading any more.
export async function settled(page) {
    await page.waitForFunction(() => !document.querySelector('.skeleton') && document.querySelector('main h1'));
    await page.evaluate(() => document.fonts.ready);
}

export async function api(path, role = 'admin') {
    const answer = await fetch(base + path, { headers: { Authorization: `Bearer ${key(role)}` } });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
}

// POST with an admin key.
export async function send(path, body) {
    const answer = await fetch(base + path, {
        method: 'POST',
        headers: { Authorization: `Bearer ${key('admin')}`, ...(body && { 'Content-Type': 'application/json' }) },
        body: body && JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : null;
}

export async function until(what, ok) {
    const end = Date.now() + LIMIT_MS;
    for (;;) {
        const got = await what();
        if (ok(got)) return got;
        if (Date.now() > end) throw new Error(`did not come true: ${JSON.stringify(got).slice(0, 300)}`);
        await new Promise((r) => setTimeout(r, 200));
    }
}
