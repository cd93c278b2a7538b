// Is a release well observed: the findings, the gravest first, or a clear "nothing to do".
import { useGet } from '../lib/api';
import { num } from '../lib/format';
import { t } from '../lib/i18n';
import { Link, useParam } from '../lib/router';
import { Badge, Card, Loaded, Tip, Toggle, type Tone } from './pieces';

interface Finding {
    check: string;
    status: string;
    text: string;
    value: number | null;
    expected: number | null;
}
interface Check {
    build: { id: number; platform: string; version_name: string };
    baseline_id: number | null;
    day: number;
    age_days: number;
    sessions: number;
    nothing_to_do: boolean;
    findings: Finding[];
    checks: Finding[];
}

const tones: Record<string, [Tone, () => string]> = {
    serious: ['bad', () => t('serious')],
    warning: ['warn', () => t('warning')],
    note: ['accent', () => t('note')],
    unknown: ['', () => t('cannot be told yet')],
    ok: ['good', () => t('well')],
};
const checkName = (c: string) =>
    ({
        volume: t('volume'),
        channel: t('missing figures'),
        untiered: t('untiered models'),
        symbols: t('unreadable stacks'),
        invalid: t('invalid values'),
        flagged: t('flagged environments'),
        clock_skew: t('clocks that go wrong'),
        crashes: t('crashes'),
    })[c] ?? c;

function List({ of }: { of: Finding[] }) {
    return (
        <table class="fold">
            <caption class="sr">{t('Findings')}</caption>
            <tbody>
                {of.map((f) => {
                    const [tone, name] = tones[f.status] ?? ['', () => f.status];
                    return (
                        <tr>
                            <td style={{ width: '11rem' }}>
                                <Badge tone={tone}>{name()}</Badge>
                            </td>
                            <td class="full nowrap" data-label="">
                                {checkName(f.check)}
                            </td>
                            <td class="full break" data-label="" style={{ width: '100%' }}>
                                {f.text}
                            </td>
                        </tr>
                    );
                })}
            </tbody>
        </table>
    );
}

export function CheckCard({ build }: { build?: string }) {
    const [day, setDay] = useParam('day');
    const data = useGet<Check>('/v1/health-check', { build, day });
    const v = data.value;
    return (
        <Card
            flush
            id="check"
            title={t('Check after the release')}
            note={
                v && (
                    <>
                        {!build && <Link href={`/builds/${v.build.id}`}>{`${v.build.version_name} (${v.build.platform})`}</Link>} {t('{n} sessions', { n: num(v.sessions) })} <Tip term="check" />
                    </>
                )
            }
            tools={
                <Toggle
                    label={t('Day')}
                    value={day}
                    options={[
                        ['', t('today')],
                        ['3', t('day {n}', { n: 3 })],
                        ['7', t('day {n}', { n: 7 })],
                        ['14', t('day {n}', { n: 14 })],
                    ]}
                    onChange={setDay}
                />
            }
        >
            <Loaded data={data} rows={3}>
                {(c) => (
                    <>
                        {c.nothing_to_do && (
                            <p style={{ padding: '.2rem 1rem .6rem' }}>
                                <Badge tone="good">{t('nothing to do')}</Badge> {t('The release is observed as well as the one before it.')}
                            </p>
                        )}
                        <List of={[...c.findings, ...c.checks]} />
                    </>
                )}
            </Loaded>
        </Card>
    );
}
