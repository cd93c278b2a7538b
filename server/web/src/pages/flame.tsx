// All stacks of a build as one flame graph.
import { t } from '../lib/i18n';
import { Link, url, useQuery } from '../lib/router';
import { Head } from '../ui/pieces';
import { BuildSelect } from '../ui/more';
import { FlameCard } from '../ui/flame';

export default function FlamePage() {
    const q = useQuery();
    const build = q.get('build');
    return (
        <>
            <Head title={t('Flame graph of janks')} says={t('Stacks of the main thread while it was late, of all sessions of the choice.')}>
                <Link class="button" href={url('/janks', { build })}>
                    {t('Families')}
                </Link>
            </Head>
            <div class="stack">
                <div class="filters">
                    <BuildSelect name="build" label={t('Build')} any={t('all')} />
                </div>
                <FlameCard build={build} />
            </div>
        </>
    );
}
