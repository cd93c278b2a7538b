// The references are written with few colours: the browser must read from them what it drew.
import assert from 'node:assert/strict';
import { base, open, settled } from './browser.mjs';
import { palettePng } from './png.mjs';

const read = async (png) => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
    const g = new OffscreenCanvas(image.width, image.height).getContext('2d');
    g.drawImage(image, 0, 0);
    return { width: image.width, height: image.height, data: [...g.getImageData(0, 0, image.width, image.height).data] };
};

export default {
    async 'a picture with few colours keeps all of them'() {
        const { page, done } = await open({ role: null });
        await page.goto('about:blank');
        const [width, height] = [37, 11];
        const pixels = Array.from({ length: width * height }, (_, i) => [(i * 7) % 256, i % 3 ? 20 : 200, i % 5, 255]).flat();
        const few = pixels.map((v, i) => (i % 4 === 0 ? v & 0xf0 : v));
        const got = await page.evaluate(read, palettePng(few, width, height).toString('base64'));
        assert.deepEqual([got.width, got.height], [width, height]);
        assert.deepEqual(got.data, few);
        await done();
    },

    async 'a page with thousands of colours stays close to itself and weighs less than half'() {
        const { page, done } = await open({ role: null });
        await page.goto(`${base}/login`);
        await settled(page);
        await page.evaluate(() => (document.body.style.background = 'linear-gradient(45deg, #123456, #fedcba, #20c040)'));
        const shot = await page.screenshot();
        const tools = await open({ role: null });
        await tools.page.goto('about:blank');
        const was = await tools.page.evaluate(read, shot.toString('base64'));
        const small = palettePng(was.data, was.width, was.height);
        const now = await tools.page.evaluate(read, small.toString('base64'));
        const off = was.data.reduce((sum, v, i) => sum + Math.abs(v - now.data[i]), 0) / was.data.length;
        assert.ok(off < 3, `off by ${off.toFixed(2)} of 255 at the mean`);
        assert.ok(small.length < shot.length / 2, `${small.length} bytes of ${shot.length}`);
        await Promise.all([done(), tools.done()]);
    },
};
