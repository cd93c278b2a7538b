// Where on a map players jank, with the same as a list of the worst places.
import { useEffect, useRef, useState } from 'preact/hooks';
import { colourOf, HeatMap, type Cell } from '../charts/heat';
import { useGet, type Page } from '../lib/api';
import { num, percent } from '../lib/format';
import { t } from '../lib/i18n';
import { setQuery, useParam, useQuery } from '../lib/router';
import { useShownTheme } from '../lib/theme';
import { Card, Empty, Loaded, Toggle } from './pieces';
import { Csv, Table, type Column } from './table';

interface Heat {
    level: number | null;
    cell_size: number | null;
    min_visits: number;
    visits_too_coarse: number;
    cells: Cell[];
}

interface Picture {
    image: CanvasImageSource;
    box: [number, number, number, number];
    name: string;
}

const side = (q: URLSearchParams, name: string, otherwise: number) => {
    const v = Number(q.get(name) ?? NaN);
    return Number.isFinite(v) ? v : otherwise;
};

export function HeatCard({ build, scenes }: { build: string; scenes: string[] }) {
    const q = useQuery();
    const theme = useShownTheme();
    const known = useGet<Page<{ scene: string; visits: number; jank_ms: number }>>('/v1/heatmap', { build });
    const ranked = [...(known.value?.items ?? [])].sort((a, b) => b.jank_ms - a.jank_ms);
    const scene = q.get('map') ?? ranked[0]?.scene ?? '';
    const [by, setBy] = useParam('by', 'jank_share');
    const least = q.get('visits') ?? '5';
    const data = useGet<Heat>(scene ? '/v1/heatmap' : null, { build, scene, min_visits: least });
    const host = useRef<HTMLDivElement>(null);
    const map = useRef<HeatMap | null>(null);
    const [picture, setPicture] = useState<Picture | null>(null);
    const v = data.value;

    useEffect(() => {
        if (!v?.cells.length || !host.current) return;
        const own = new HeatMap(host.current);
        map.current = own;
        return () => {
            own.destroy();
            map.current = null;
        };
    }, [v, theme]);
    useEffect(() => {
        if (!v?.cells.length) return;
        const placed = picture && {
            image: picture.image,
            box: [side(q, 'ml', picture.box[0]), side(q, 'mb', picture.box[1]), side(q, 'mr', picture.box[2]), side(q, 'mt', picture.box[3])] as Picture['box'],
        };
        map.current?.set(v.cells, v.cell_size ?? 1, by as 'jank_share', placed);
    }, [v, by, picture, theme, q]);

    // The picture stays in this browser: the server has no maps.
    const choose = (e: Event) => {
        const file = (e.currentTarget as HTMLInputElement).files?.[0];
        if (!file || !v?.cells.length) return;
        createPicture(file).then((image) => {
            const s = v.cell_size ?? 1;
            const xs = v.cells.map((c) => c.x * s);
            const ys = v.cells.map((c) => c.y * s);
            setPicture({ image, box: [Math.min(...xs), Math.min(...ys), Math.max(...xs) + s, Math.max(...ys) + s], name: file.name });
        }, () => setPicture(null));
    };
    const columns: Column<Cell>[] = [
        { key: 'place', label: t('Place'), cell: (c) => `${num(c.x * (v?.cell_size ?? 1))}, ${num(c.y * (v?.cell_size ?? 1))}`, value: (c) => `${c.x * (v?.cell_size ?? 1)} ${c.y * (v?.cell_size ?? 1)}` },
        { key: 'share', label: t('Visits with a jank'), right: true, cell: (c) => percent(c.jank_share), value: (c) => c.jank_share },
        { key: 'ms', label: t('Jank ms a visit'), right: true, cell: (c) => num(c.jank_ms_per_visit), value: (c) => c.jank_ms_per_visit },
        { key: 'n', label: t('Visits'), right: true, cell: (c) => num(c.visits), value: (c) => c.visits },
    ];
    const worst = [...(v?.cells ?? [])].sort((a, b) => b[by as 'jank_share'] - a[by as 'jank_share']).slice(0, 10);
    const worth = (v: number) => (by === 'jank_share' ? percent(v, 0) : `${num(v)} ms`);
    const box = (name: string, label: string, at: number) => (
        <label class="field">
            {label}
            <input type="number" style={{ width: '6rem' }} value={side(q, name, picture!.box[at])} onChange={(e) => setQuery({ [name]: e.currentTarget.value })} />
        </label>
    );
    return (
        <Card
            flush
            title={t('Heat map')}
            note={v?.cell_size ? t('cells of {n} units, {visits} visits or more', { n: num(v.cell_size), visits: v.min_visits }) : ''}
            tools={
                <span class="row no-print">
                    <select aria-label={t('Map')} value={scene} onChange={(e) => setQuery({ map: e.currentTarget.value })}>
                        {[...new Set([...ranked.map((r) => r.scene), ...(scene ? [scene] : []), ...(ranked.length ? [] : scenes)])].map((s) => (
                            <option value={s}>{s}</option>
                        ))}
                    </select>
                    <Toggle
                        label={t('Shown')}
                        value={by}
                        options={[
                            ['jank_share', t('visits with a jank')],
                            ['jank_ms_per_visit', t('jank ms a visit')],
                        ]}
                        onChange={setBy}
                    />
                    <label class="button">
                        {picture ? picture.name : t('Map picture…')}
                        <input type="file" accept="image/*" class="sr" onChange={choose} />
                    </label>
                    {worst.length > 0 && <Csv name="heatmap" columns={columns} rows={v!.cells} />}
                </span>
            }
        >
            <Loaded data={known} rows={3}>
                {(k) =>
                    !k.items.length ? (
                        <Empty title={t('No positions yet')}>
                            <p>{t('The game tells them with fw_position().')}</p>
                        </Empty>
                    ) : (
                        <Loaded data={data} rows={6}>
                            {(h) =>
                                h.cells.length ? (
                                    <>
                                        {picture && (
                                            <div class="filters" style={{ padding: '0 1rem .6rem' }}>
                                                {box('ml', t('left'), 0)}
                                                {box('mb', t('bottom'), 1)}
                                                {box('mr', t('right'), 2)}
                                                {box('mt', t('top'), 3)}
                                            </div>
                                        )}
                                        <div class="grid2" style={{ padding: '0 0 1rem' }}>
                                            <div class="canvas" ref={host} style={{ padding: '0 1rem' }} role="img" aria-label={t('Heat map of {scene}; the list tells the worst places.', { scene })} />
                                            <div>
                                                <div class="row small soft" style={{ padding: '0 1rem .4rem' }}>
                                                    {t('calm')} {worth(0)}
                                                    <span style={{ display: 'inline-flex' }} aria-hidden="true">
                                                        {[0, 0.2, 0.4, 0.6, 0.8, 1].map((x) => (
                                                            <span style={{ width: '22px', height: '10px', background: colourOf(x) }} />
                                                        ))}
                                                    </span>
                                                    {worth(worst[0][by as 'jank_share'])} {t('worst')}
                                                </div>
                                                <Table id="hc" caption={t('Worst places')} columns={columns} rows={worst} sortable={false} fold={false} />
                                                {h.visits_too_coarse > 0 && <p class="small soft" style={{ padding: '.4rem 1rem' }}>{t('{n} {n|visit was|visits were} told more coarsely and {n|is|are} not shown.', { n: num(h.visits_too_coarse) })}</p>}
                                            </div>
                                        </div>
                                    </>
                                ) : (
                                    <Empty title={t('No place has enough visits')}>
                                        <p>{t('Cells with fewer than {n} visits say nothing and are left out.', { n: h.min_visits })}</p>
                                    </Empty>
                                )
                            }
                        </Loaded>
                    )
                }
            </Loaded>
        </Card>
    );
}

// As a data: address the policy of the page would refuse it; a canvas takes it from a bitmap.
async function createPicture(file: File): Promise<CanvasImageSource> {
    const bitmap = await createImageBitmap(file);
    const canvas = document.createElement('canvas');
    canvas.width = bitmap.width;
    canvas.height = bitmap.height;
    canvas.getContext('2d')!.drawImage(bitmap, 0, 0);
    return canvas;
}
