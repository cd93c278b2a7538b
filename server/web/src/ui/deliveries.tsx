// Who was told what, and when.
import { useState } from 'preact/hooks';
import { send, useList } from '../lib/api';
import { deliveryKind, deliveryState, type Delivery } from '../lib/alerts';
import { kindNames } from '../lib/channels';
import { when } from '../lib/format';
import { t } from '../lib/i18n';
import { isAdmin } from '../lib/login';
import { Link } from '../lib/router';
import { Badge, Card, Empty, Failed, Waiting } from './pieces';
import { Csv, ShowMore, Table, type Column } from './table';
import { Problem } from '../lib/api';

export function Deliveries({ subject, title }: { subject?: string; title: string }) {
    const admin = isAdmin();
    const list = useList<Delivery>(admin ? '/v1/deliveries' : '', subject ? { kind: 'alert', subject, limit: 50 } : { limit: 20 }, !admin);
    const [busy, setBusy] = useState(0);
    const again = async (id: number) => {
        setBusy(id);
        await send('POST', `/v1/deliveries/${id}/retry`).catch(() => null);
        setBusy(0);
        list.again();
    };
    const columns: Column<Delivery>[] = [
        { key: 'channel', label: t('Channel'), cell: (d) => `${d.channel} (${kindNames[d.via] ?? d.via})`, value: (d) => d.channel },
        ...(subject
            ? []
            : [
                  {
                      key: 'what',
                      label: t('What'),
                      cell: (d: Delivery) => (d.kind === 'alert' ? <Link href={`/alerts/${d.subject}`}>{t('alert {n}', { n: d.subject })}</Link> : d.kind === 'test' ? t('test') : `${deliveryKind(d.kind)} ${d.subject.slice(0, 12)}`),
                      value: (d: Delivery) => d.kind,
                  },
              ]),
        { key: 'version', label: t('Version'), right: true, cell: (d) => d.version, value: (d) => d.version },
        {
            key: 'state',
            label: t('State'),
            cell: (d) => {
                const [tone, name] = deliveryState(d.state);
                return <Badge tone={tone}>{name}</Badge>;
            },
            value: (d) => d.state,
        },
        { key: 'sent', full: true, label: t('Taken'), cell: (d) => <span class="nowrap" data-volatile>{when(d.sent_at)}</span>, value: (d) => d.sent_at },
        { key: 'tried', full: true, label: t('Last try'), cell: (d) => <span class="nowrap" data-volatile>{when(d.tried_at)}</span>, value: (d) => d.tried_at },
        { key: 'tries', label: t('Tries'), right: true, cell: (d) => d.attempts, value: (d) => d.attempts },
        {
            key: 'error',
            label: t('Answer'),
            full: true,
            cell: (d) => (
                <span class="break small">
                    <span lang="en">{d.last_error || (d.last_status ? d.last_status : '–')}</span>{' '}
                    {d.state === 'dead' && (
                        <button type="button" disabled={busy === d.id} onClick={() => void again(d.id)}>
                            {t('Send again')}
                        </button>
                    )}
                </span>
            ),
            value: (d) => d.last_error,
        },
    ];
    return (
        <Card flush id="deliveries" title={title} tools={list.items?.length ? <Csv name="deliveries" columns={columns} rows={list.items} /> : undefined}>
            {!admin ? (
                <Failed problem={new Problem(403, 'forbidden', '')} />
            ) : list.problem ? (
                <Failed problem={list.problem} again={list.again} />
            ) : !list.items ? (
                <Waiting rows={2} />
            ) : list.items.length ? (
                <>
                    <Table id="d" caption={title} columns={columns} rows={list.items} />
                    <ShowMore list={list} />
                </>
            ) : (
                <Empty title={t('Nobody was told')}>
                    <p>{t('No channel takes it, or none is there yet.')}</p>
                </Empty>
            )}
        </Card>
    );
}
