// Writes small pictures: few colours, by median cut, so that references weigh a fifth.
import { deflateSync } from 'node:zlib';

const COLOURS = 16; // as many as half a byte tells apart

const table = Array.from({ length: 256 }, (_, n) => {
    for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
    return n >>> 0;
});
const crc = (bytes) => {
    let c = 0xffffffff;
    for (const b of bytes) c = table[(c ^ b) & 255] ^ (c >>> 8);
    return (c ^ 0xffffffff) >>> 0;
};

function chunk(type, data) {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const out = Buffer.alloc(body.length + 8);
    out.writeUInt32BE(data.length, 0);
    body.copy(out, 4);
    out.writeUInt32BE(crc(body), body.length + 4);
    return out;
}

// The colours of the picture with how many pixels have each.
function count(rgba) {
    const counts = new Map();
    for (let i = 0; i < rgba.length; i += 4) {
        const c = (rgba[i] << 16) | (rgba[i + 1] << 8) | rgba[i + 2];
        counts.set(c, (counts.get(c) ?? 0) + 1);
    }
    return counts;
}

const part = (colour, shift) => (colour >> shift) & 255;

function spread(box) {
    let most = { width: 0, shift: 0 };
    for (const shift of [16, 8, 0]) {
        let low = 255;
        let high = 0;
        for (const [c] of box) {
            low = Math.min(low, part(c, shift));
            high = Math.max(high, part(c, shift));
        }
        if (high - low > most.width) most = { width: high - low, shift };
    }
    return most;
}

// Halves the box with most pixels times spread, at its middle pixel, until there are enough.
function boxesOf(counts, most) {
    const make = (colours) => ({ colours, pixels: colours.reduce((n, [, m]) => n + m, 0), ...spread(colours) });
    const boxes = [make([...counts])];
    while (boxes.length < most) {
        let at = 0;
        for (let i = 1; i < boxes.length; i++) if (boxes[i].pixels * boxes[i].width > boxes[at].pixels * boxes[at].width) at = i;
        const { colours, width, shift, pixels } = boxes[at];
        if (!width) break;
        colours.sort((a, b) => part(a[0], shift) - part(b[0], shift));
        let cut = 1;
        for (let sum = colours[0][1]; cut < colours.length - 1 && sum + colours[cut][1] <= pixels / 2; cut++) sum += colours[cut][1];
        boxes.splice(at, 1, make(colours.slice(0, cut)), make(colours.slice(cut)));
    }
    return boxes.map((b) => b.colours);
}

const mean = (box, shift) => {
    let sum = 0;
    let n = 0;
    for (const [c, m] of box) {
        sum += part(c, shift) * m;
        n += m;
    }
    return Math.round(sum / n);
};

// In the browser: the pixels of a picture, RGBA as base64.
export const pixels = async (png) => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
    const g = new OffscreenCanvas(image.width, image.height).getContext('2d');
    g.drawImage(image, 0, 0);
    let text = '';
    for (const b of g.getImageData(0, 0, image.width, image.height).data) text += String.fromCharCode(b);
    return { width: image.width, height: image.height, rgba: btoa(text) };
};

// rgba: width x height pixels, opaque. Gives the file's bytes.
export function palettePng(rgba, width, height, colours = COLOURS) {
    const palette = Buffer.alloc(3 * colours);
    const index = new Map();
    const boxes = boxesOf(count(rgba), colours);
    boxes.forEach((box, i) => {
        [16, 8, 0].forEach((shift, k) => (palette[3 * i + k] = mean(box, shift)));
        for (const [c] of box) index.set(c, i);
    });
    const bits = boxes.length > 16 ? 8 : 4;
    const stride = 1 + Math.ceil((width * bits) / 8); // a row begins with its filter: none
    const rows = Buffer.alloc(stride * height);
    for (let y = 0; y < height; y++)
        for (let x = 0; x < width; x++) {
            const i = 4 * (y * width + x);
            const at = index.get((rgba[i] << 16) | (rgba[i + 1] << 8) | rgba[i + 2]);
            if (bits === 8) rows[y * stride + 1 + x] = at;
            else rows[y * stride + 1 + (x >> 1)] |= x & 1 ? at : at << 4;
        }
    const head = Buffer.alloc(13);
    head.writeUInt32BE(width, 0);
    head.writeUInt32BE(height, 4);
    head.set([bits, 3, 0, 0, 0], 8);
    return Buffer.concat([
        Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
        chunk('IHDR', head),
        chunk('PLTE', palette.subarray(0, 3 * boxes.length)),
        chunk('IDAT', deflateSync(rows, { level: 9 })),
        chunk('IEND', Buffer.alloc(0)),
    ]);
}
