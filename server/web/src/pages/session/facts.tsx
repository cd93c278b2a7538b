// What a session was: build, device, figures, and what they rest on.
import { bytes, celsius, clock, jankRate, megabytes, ms, num, percent, span, when } from '../../lib/format';
import { deviceName, deviceSessions } from '../../lib/device';
import { memoryKind, memoryName } from '../../lib/memory';
import { t } from '../../lib/i18n';
import { peak } from '../../lib/lanes';
import { reasonName } from '../../lib/reasons';
import { Link, url } from '../../lib/router';
import { flagName, platformName, tierName } from '../../lib/terms';
import type { Session, Timeline } from '../../lib/types';
import { Badge, Card, Chip, Stat, Tip } from '../../ui/pieces';
import { look } from './look';

export const janksOf = (s: { janks_minor: number; janks_normal: number; janks_severe: number }) =>
    s.janks_minor + s.janks_normal + s.janks_severe;

export function Facts({ s }: { s: Session }) {
    const d = s.device;
    const sessions = deviceSessions(d);
    const clusters = d.clusters?.map((c) => (c.max_khz ? `${c.cores}×${(c.max_khz / 1e6).toFixed(1)}` : `${c.cores}`)).join(' + ');
    return (
        <div class="chips">
            <Chip name={t('Version')}>
                <Link href={`/builds/${s.build_id}`}>{`${s.version_name} (${s.version_code})`}</Link>
            </Chip>
            <Chip name={t('Device')}>
                {sessions ? <Link href={sessions}>{deviceName(d)}</Link> : deviceName(d)}
            </Chip>
            <Chip name={t('Tier')}>
                {tierName(d)} <Tip term="tier" />
            </Chip>
            {d.soc && <Chip name="SoC">{d.soc}</Chip>}
            {clusters && <Chip name={t('Cores, GHz')}>{clusters}</Chip>}
            {d.gpu && <Chip name="GPU">{d.gpu}</Chip>}
            {d.ram_gb > 0 && <Chip name="RAM">{d.ram_gb} GB</Chip>}
            {d.screen_width_px > 0 && (
                <Chip name={t('Screen')}>{`${d.screen_width_px} × ${d.screen_height_px}, ${num(d.refresh_millihertz / 1000)} Hz`}</Chip>
            )}
            <Chip name="OS">{s.os_version.startsWith(platformName(s.platform)) ? s.os_version : `${platformName(s.platform)} ${s.os_version}`}</Chip>
            <Chip name="SDK">{s.sdk_version}</Chip>
            {s.wall_start_ms && (
                <Chip name={t('Played')}>
                    <span data-volatile>{when(new Date(s.wall_start_ms).toISOString())}</span>
                </Chip>
            )}
            <Chip name={t('Player')}>
                <Link href={url('/sessions', { install: s.install })} class="mono">
                    {s.install.slice(0, 10)}…
                </Link>
            </Chip>
        </div>
    );
}

export function Badges({ s }: { s: Session }) {
    return (
        <span class="row" style={{ gap: '.35rem' }}>
            {s.state === 'open' && <Badge tone="accent">{t('still open')}</Badge>}
            {s.has_crash && <Badge tone="bad">{t('crashed')}</Badge>}
            {s.has_feedback && <Badge tone="accent">{t('feedback')}</Badge>}
            {s.slow_session && (
                <Badge tone="warn">
                    {t('slow session')} <Tip term="slow" />
                </Badge>
            )}
            {s.environment.map((e) => (
                <Badge tone="warn">{flagName(e)}</Badge>
            ))}
            {s.excluded && (
                <Badge>
                    {t('in no statistic')} <Tip term="excluded" />
                </Badge>
            )}
            {s.from_summary && <Badge>{t('summary only')}</Badge>}
        </span>
    );
}

export function Stats({ s, data }: { s: Session; data: Timeline | null }) {
    const janks = janksOf(s);
    const states = s.detail.frames_by_state ?? {};
    const all = Object.values(states).reduce((sum, n) => sum + n, 0);
    const hot = data && peak(data, 'battery_millicelsius');
    const at = (t_us: number) => (
        <button class="bare small" style={{ padding: 0, minHeight: 0, color: 'var(--accent)' }} type="button" onClick={() => look(t_us - 30e6, t_us + 30e6)}>
            {t('at {time}', { time: clock(t_us) })}
        </button>
    );
    return (
        <div class="stats">
            <Stat term="p50" value={ms(s.p50_us)} unit="ms" n={`${t('mean')} ${ms(s.mean_us)} ms`} />
            <Stat term="p90" value={ms(s.p90_us)} unit="ms" n={`P99 ${ms(s.p99_us)} ms · ${t('longest')} ${ms(s.max_us, 0)} ms`} />
            <Stat
                term="jankRate"
                value={num(jankRate(janks, s.foreground_us), 1)}
                n={
                    <span class="row" style={{ gap: '.3rem' }}>
                        <span class="dot minor" /> {s.janks_minor} <span class="dot normal" /> {s.janks_normal} <span class="dot severe" /> {s.janks_severe}
                    </span>
                }
            />
            <Stat term="jankTime" value={s.foreground_us ? num((s.jank_us / s.foreground_us) * 60000, 0) : '–'} unit="ms/min" n={`${num(s.perfdog_big_janks)} ${t('big janks')}`} />
            <Stat
                term="temperature"
                value={celsius(s.peak_battery_millicelsius).replace(' °C', '')}
                unit={s.peak_battery_millicelsius ? '°C' : ''}
                n={hot ? at(hot.t_us) : undefined}
            />
            <Stat term="memory" value={megabytes(s.peak_memory_kb).replace(' MB', '')} unit={s.peak_memory_kb ? `MB ${memoryName[memoryKind(s.platform)]}` : ''} />
            <Stat term="throttled" value={s.throttled_us ? span(s.throttled_us) : t('none')} />
            <Stat
                term="foreground"
                value={span(s.foreground_us)}
                n={`${num(s.frames)} ${t('frames')}${all ? ` · ${percent((states.valid ?? 0) / all, 1)} ${t('valid')}` : ''}`}
            />
        </div>
    );
}

// How much of the session the figures rest on, and what the SDK cost.
export function Coverage({ s }: { s: Session }) {
    const d = s.detail;
    const invalid = Object.entries(s.invalid ?? {});
    const r = d.self_report;
    const facts: [string, string][] = [
        [t('Files'), `${num(s.parts)}${d.files?.left_out ? ` (${t('{n} left out', { n: d.files.left_out })})` : ''}`],
        ...Object.entries(d.frames_by_state ?? {})
            .filter(([, n]) => n > 0)
            .map(([name, n]): [string, string] => [t('Frames, {state}', { state: stateName(name) }), num(n)]),
    ];
    if (d.dropped_frames) facts.push([t('Frames the SDK dropped'), num(d.dropped_frames)]);
    if (r) {
        facts.push([t('CPU time of the SDK'), `${num(r.cpu_us / 1000)} ms (${percent(r.cpu_us / Math.max(1, s.duration_us), 2)})`]);
        facts.push([t('Its memory'), bytes(r.memory_bytes)], [t('It sent'), bytes(r.bytes_uploaded)]);
    }
    return (
        <Card title={t('What this rests on')} note={<Tip term="coverage" />}>
            <div class="chips">
                {facts.map(([name, value]) => (
                    <Chip name={name}>{value}</Chip>
                ))}
                {invalid.map(([name, n]) => (
                    <Chip name={reasonName(name)}>{num(n)}</Chip>
                ))}
                {r?.collectors?.map((c) => (
                    <Chip name={`SDK, ${c.name}`}>{`${num(c.us / 1000)} ms / ${num(c.looks)}`}</Chip>
                ))}
                {r?.collectors_off.map((c) => (
                    <Chip name={t('collector off: {name}', { name: c.name })}>{c.reason}</Chip>
                ))}
            </div>
        </Card>
    );
}

const stateName = (s: string) =>
    ({ valid: t('valid'), background: t('in the background'), suspended: t('suspended'), invalid: t('invalid'), overlap: t('overlapping') })[s] ?? s;
