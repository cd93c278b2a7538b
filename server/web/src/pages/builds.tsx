import { useList } from '../lib/api';
import { day } from '../lib/format';
import { t } from '../lib/i18n';
import { Link, setQuery, url, useQuery } from '../lib/router';
import { platformName } from '../lib/terms';
import type { Build } from '../lib/types';
import { Badge, Card, Empty, Failed, Head, Select, Toggle, Waiting } from '../ui/pieces';
import { Csv, ShowMore, Table, type Column } from '../ui/table';

const columns = (): Column<Build>[] => [
    {
        key: 'version',
        label: t('Version'),
        cell: (b) => (
            <span class="row" style={{ gap: '.4rem' }}>
                <Link href={`/builds/${b.id}`}>{b.version_name || t('unnamed')}</Link>
                {!b.registered && <Badge tone="warn">{t('not registered')}</Badge>}
            </span>
        ),
        value: (b) => b.version_name,
    },
    { key: 'code', label: t('Code'), right: true, cell: (b) => b.version_code, value: (b) => b.version_code },
    { key: 'platform', label: t('Platform'), cell: (b) => platformName(b.platform), value: (b) => b.platform },
    { key: 'released', label: t('Released'), cell: (b) => <span data-volatile>{day(b.released_at)}</span>, value: (b) => b.released_at },
    {
        key: 'seen',
        label: t('First heard of'),
        cell: (b) => (
            <span class="nowrap" data-volatile>
                {day(b.created_at)}
            </span>
        ),
        value: (b) => b.created_at,
    },
    { key: 'commit', label: t('Commit'), cell: (b) => <code>{b.git_commit.slice(0, 10) || '–'}</code>, value: (b) => b.git_commit },
    {
        key: 'look',
        label: t('Look at'),
        cell: (b) => (
            <span class="row nowrap" style={{ gap: '.8rem' }}>
                <Link href={url('/compare', { build: b.id })}>{t('comparison')}</Link>
                <Link href={url('/sessions', { build: b.id })}>{t('sessions')}</Link>
            </span>
        ),
    },
];

export default function Builds() {
    const q = useQuery();
    const list = useList<Build>('/v1/builds', { platform: q.get('platform'), registered: q.get('registered'), limit: 50 });
    const table = columns();
    return (
        <>
            <Head title={t('Builds')} says={t('What CI made known and what sessions came from. A build that is not registered is never a baseline.')} />
            <div class="stack">
                <div class="filters">
                    <Select
                        label={t('Platform')}
                        value={q.get('platform') ?? ''}
                        options={[['', t('all')], ['android', 'Android'], ['ios', 'iOS'], ['linux', 'Linux']]}
                        onChange={(platform) => setQuery({ platform })}
                    />
                    <Toggle
                        label={t('Registered')}
                        value={q.get('registered') ?? ''}
                        options={[['', t('all')], ['true', t('registered')], ['false', t('not registered')]]}
                        onChange={(registered) => setQuery({ registered })}
                    />
                </div>
                <Card flush title={t('Builds')} tools={list.items?.length ? <Csv name="builds" columns={table} rows={list.items} /> : undefined}>
                    {list.problem ? (
                        <Failed problem={list.problem} again={list.again} />
                    ) : !list.items ? (
                        <Waiting />
                    ) : list.items.length ? (
                        <>
                            <Table id="b" caption={t('Builds')} columns={table} rows={list.items} href={(b) => `/builds/${b.id}`} />
                            <ShowMore list={list} />
                        </>
                    ) : (
                        <Empty title={t('No build yet')}>
                            <p>{t('CI makes one known:')}</p>
                            <code>framewatch build register --version …</code>
                        </Empty>
                    )}
                </Card>
            </div>
        </>
    );
}
