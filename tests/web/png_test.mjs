// The references are written with few colours: the browser must read from them what it drew.
import assert from 'node:assert/strict';
import { base, open, settled } from './browser.mjs';
import { palettePng, pixels } from './png.mjs';

// The pixels of a picture, as the browser reads it.
const read = async (page, png) => {
    const { width, height, rgba } = await page.evaluate(pixels, png.toString('base64'));
    return { width, height, data: Buffer.from(rgba, 'base64') };
};

export default {
    async 'a picture with few colours keeps all of them'() {
        const { page, done } = await open({ role: null });
        await page.goto('about:blank');
        const [width, height] = [37, 11];
        const many = Array.from({ length: width * height }, (_, i) => [(i * 7) % 256, i % 3 ? 20 : 200, 60, 255]).flat();
        const few = many.map((v, i) => (i % 4 === 0 ? v & 0xe0 : v));
        for (const [pixels, colours] of [
            [few, 16],
            [many, 256],
        ]) {
            const got = await read(page, palettePng(pixels, width, height, colours));
            assert.deepEqual([got.width, got.height], [width, height]);
            if (colours === 16) assert.deepEqual([...got.data], few);
            else assert.ok(got.data.every((v, i) => Math.abs(v - many[i]) < 8));
        }
        await done();
    },

    async 'a page with thousands of colours stays close to itself and weighs less than half'() {
        const { page, done } = await open({ role: null, width: 400, height: 300 });
        await page.goto(`${base}/login`);
        await settled(page);
        await page.evaluate(() => (document.body.style.background = 'linear-gradient(45deg, #123456, #fedcba, #20c040)'));
        const shot = await page.screenshot();
        const tools = await open({ role: null });
        await tools.page.goto('about:blank');
        const was = await read(tools.page, shot);
        const small = palettePng(was.data, was.width, was.height);
        const now = await read(tools.page, small);
        const off = was.data.reduce((sum, v, i) => sum + Math.abs(v - now.data[i]), 0) / was.data.length;
        assert.ok(off < 5, `off by ${off.toFixed(2)} of 255 at the mean`);
        assert.ok(small.length < shot.length / 2, `${small.length} bytes of ${shot.length}`);
        await Promise.all([done(), tools.done()]);
    },
};
