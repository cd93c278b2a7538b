// One session: what it was, its lanes over time, its janks with stacks, all that happened.
import { useEffect } from 'preact/hooks';
import { useGet } from '../lib/api';
import { t } from '../lib/i18n';
import { Link, useValue } from '../lib/router';
import type { Janks, Session, Timeline } from '../lib/types';
import { Card, Empty, Failed, Loaded, Waiting } from '../ui/pieces';
import { Events, Scenes, Troubles } from './session/events';
import { CopyId, Exports } from './session/exports';
import { Badges, Coverage, Facts, Stats } from './session/facts';
import { JankList } from './session/janks';
import { View } from './session/timeline';

export default function SessionPage({ id }: { id: string }) {
    const path = `/v1/sessions/${encodeURIComponent(id)}`;
    const session = useGet<Session>(path);
    const timeline = useGet<Timeline>(`${path}/timeline`);
    const janks = useGet<Janks>(`${path}/janks`);
    const chosen = useValue('jank');
    const s = session.value;

    useEffect(() => {
        if (chosen === null || !janks.value) return;
        document.querySelector('#janks tr[aria-selected]')?.scrollIntoView({ block: 'nearest', behavior: 'smooth' });
    }, [chosen, janks.value]);

    if (session.problem)
        return session.problem.status === 404 ? (
            <Empty page title={t('No session has this id')}>
                <p class="mono break">{id}</p>
                <p>{t('It may not have arrived yet, belong to another app than your key, or be past its retention.')}</p>
                <Link href="/sessions">{t('All sessions')}</Link>
            </Empty>
        ) : (
            <Failed page problem={session.problem} again={session.again} />
        );
    if (!s) return <Waiting rows={8} />;
    return (
        <>
            <div class="head" style={{ marginBottom: '.7rem' }}>
                <div>
                    <div class="row">
                        <h1 class="mono break" style={{ fontSize: '1.2rem' }}>
                            {s.id}
                        </h1>
                        <CopyId id={s.id} />
                        <Badges s={s} />
                    </div>
                </div>
                <Exports id={s.id} />
            </div>
            <div class="stack">
                <Facts s={s} />
                <Stats s={s} data={timeline.value} />
                {timeline.problem ? (
                    <Card title={t('Timeline')}>
                        {timeline.problem.status === 410 ? (
                            <Empty title={t('The files of this session are past their retention')}>
                                <p>{t('Its figures and janks are kept; the timeline was in the files.')}</p>
                            </Empty>
                        ) : (
                            <Failed problem={timeline.problem} again={timeline.again} />
                        )}
                    </Card>
                ) : timeline.value ? (
                    <View data={timeline.value} chosen={chosen === null ? null : Number(chosen)} />
                ) : (
                    <Card title={t('Timeline')}>
                        <div style={{ height: '34rem' }}>
                            <Waiting rows={5} />
                        </div>
                    </Card>
                )}
                <Troubles s={s} />
                {janks.value && !janks.problem ? <JankList data={janks.value} /> : <Card title={t('Janks')}>{<Loaded data={janks}>{() => null}</Loaded>}</Card>}
                <div class="grid2">
                    <Scenes slices={s.detail.slices ?? []} session={s} />
                    {timeline.value && <Events data={timeline.value} />}
                </div>
                <Coverage s={s} />
            </div>
        </>
    );
}
