// What the words of the page mean; shown in tooltips.
import { t } from './i18n';

const terms = {
    p50: () => ({ name: t('P50 frame time'), says: t('Half of the valid foreground frames took at most so long, from present to present.') }),
    p90: () => ({ name: t('P90 frame time'), says: t('Nine of ten valid foreground frames took at most so long. Within 2 %: values come from a sketch of logarithmic buckets.') }),
    p95: () => ({ name: t('P95 frame time'), says: t('95 of 100 valid foreground frames took at most so long.') }),
    p99: () => ({ name: t('P99 frame time'), says: t('99 of 100 valid foreground frames took at most so long.') }),
    mean: () => ({ name: t('Mean frame time'), says: t('Sum of the valid foreground frame times by their number.') }),
    fps: () => ({ name: t('Average FPS'), says: t('Valid foreground frames by the time they took.') }),
    janks: () => ({ name: t('Janks'), says: t('Frames longer than 100 ms (minor), 250 ms (normal) or 500 ms (severe).') }),
    jankRate: () => ({ name: t('Janks per 10 min'), says: t('Janks of any level in 10 minutes of foreground time.') }),
    jankTime: () => ({ name: t('Jank time'), says: t('Milliseconds spent in janks a minute of foreground time: how much, not only how often.') }),
    minor: () => ({ name: t('Minor janks'), says: t('Frames longer than 100 ms, up to 250 ms.') }),
    normal: () => ({ name: t('Normal janks'), says: t('Frames longer than 250 ms, up to 500 ms.') }),
    severe: () => ({ name: t('Severe janks'), says: t('Frames longer than 500 ms.') }),
    perfdogJank: () => ({ name: t('PerfDog janks'), says: t('By PerfDog’s definition: longer than twice the mean of the previous three frames, and than 84 ms.') }),
    stutter: () => ({ name: t('Stutter'), says: t('Part of the foreground time that PerfDog janks took.') }),
    bigJank: () => ({ name: t('Big janks'), says: t('By PerfDog’s definition: longer than three times the mean of the previous three frames, and than 125 ms.') }),
    missed: () => ({ name: t('Missed frames'), says: t('Frames of two target intervals or more. Depends on the rate aimed at, so 120 Hz is not judged as 60 Hz.') }),
    slow: () => ({ name: t('Slow session'), says: t('More than a quarter of the frames above 50 ms, from the second minute on (Google Play’s definition).') }),
    temperature: () => ({ name: t('Peak temperature'), says: t('Highest battery temperature that was in bounds.') }),
    memory: () => ({ name: t('Peak memory'), says: t('Android: highest PSS. iOS: highest physical footprint. Elsewhere: highest RSS. They are different quantities: compare within a platform.') }),
    meanTemperature: () => ({ name: t('Battery temperature'), says: t('Mean temperature of the battery in the foreground.') }),
    pss: () => ({ name: t('Peak memory (Android PSS)'), says: t('Highest PSS in the foreground: the game’s own memory and its part of what it shares. PSS, footprint and RSS are three quantities: compare within a platform.') }),
    footprint: () => ({ name: t('Peak memory (iOS footprint)'), says: t('Highest physical footprint in the foreground: what iOS counts against the game’s limit. PSS, footprint and RSS are three quantities: compare within a platform.') }),
    rss: () => ({ name: t('Peak memory (RSS)'), says: t('Highest resident memory in the foreground, shared pages counted whole. PSS, footprint and RSS are three quantities: compare within a platform.') }),
    throttled: () => ({ name: t('Throttled'), says: t('Time with a thermal status of severe or above, by sessions that tell a status.') }),
    foreground: () => ({ name: t('Foreground'), says: t('Time in front of the player that the arrived files cover. Only this counts.') }),
    tier: () => ({ name: t('Tier'), says: t('Class of the device model by what it is capable of; tier 1 is the fastest. Cuts are placed once and frozen, so a tier means the same tomorrow.') }),
    cause: () => ({ name: t('Cause'), says: t('The most likely cause, from the hardware of 2 s before to 1 s after. “Unknown” is an honest answer.') }),
    excluded: () => ({ name: t('Excluded'), says: t('Sessions of rooted, debugged, emulated or repackaged processes are kept and shown, but are in no statistic.') }),
    coverage: () => ({ name: t('Coverage'), says: t('Which part of the data the figure rests on.') }),
    share: () => ({ name: t('Share'), says: t('Part of all janks with a stack. Samples are not milliseconds: a share says how often, not how long.') }),
    rate: () => ({ name: t('Of sessions'), says: t('Part of the final sessions of the same choice that show it at least once.') }),
    stacks: () => ({ name: t('Stacks'), says: t('Different raw stacks merged into the family. Counts hang on stacks: another rule moves no counter.') }),
    verdict: () => ({ name: t('Verdict'), says: t('From counts and hours of exposure in both builds, with an interval that allows for installs that count often. “Too little data” is an answer.') }),
    lift: () => ({ name: t('Lift'), says: t('How many times more often these steps come before the jank than in jank-free sessions of the same scene.') }),
    mix: () => ({ name: t('Mix removed'), says: t('The part of the plain difference that came from other devices and players playing the new build; the change does not contain it.') }),
    adoption: () => ({ name: t('Adoption'), says: t('Installs seen on this build, and their part of those seen on both.') }),
    compared: () => ({ name: t('Compared sessions'), says: t('Sessions of this build and of the baseline that the change was taken from: those whose own past or device model tells what to expect. Without a change, those that have the figure.') }),
    players: () => ({ name: t('Players seen'), says: t('Installs with a session of this build on that tier and in that scene.') }),
    theta: () => ({ name: t('Threshold'), says: t('By how much a figure must be worse to be an alert. Thresholds are set on the page of alerts.') }),
    perSession: () => ({ name: t('A session'), says: t('Janks of the family by the sessions of this build, on the tier and in the scene of the alert.') }),
    perSessionBefore: () => ({ name: t('Before'), says: t('The same of the baseline.') }),
    gap: () => ({ name: t('Gap'), says: t('How many times worse the slowest tier is than the fastest, of tiers with 50 sessions there.') }),
    chance: () => ({ name: t('95 % each'), says: t('Each interval holds with 95 % by itself, so among many figures up to one in forty looks worse by chance alone. Alerts ask for more: they allow for all figures that are watched.') }),
    expected: () => ({ name: t('Expected P90'), says: t('What a session on this model is expected to show, from what it is made of and from its own sessions.') }),
    weight: () => ({ name: t('Own sessions count'), says: t('How far its own sessions stand for the model; the rest is what models of its kind show.') }),
    check: () => ({ name: t('Check after the release'), says: t('Volume against the baseline’s, figures that phones stopped to tell, new models without a tier, shares of invalid, flagged and unreadable data. Made by itself at days 3, 7 and 14.') }),
    symbols: () => ({ name: t('Symbols'), says: t('Files of CI that turn addresses into functions, files and lines.') }),
    quarantine: () => ({ name: t('Quarantine'), says: t('What was refused or out of bounds, by reason. Nothing that arrives is dropped without being counted.') }),
    interval: () => ({ name: t('Interval'), says: t('The true change lies in it with 95 % confidence, also when looked at after every session.') }),
};

export type Term = keyof typeof terms;
export const define = (term: Term) => terms[term]();

// Names of the API's values.
export const causeName = (cause: string) =>
    ({
        unknown: t('unknown'),
        throttled: t('throttled'),
        memory_pressure: t('memory pressure'),
        thread_explosion: t('too many threads'),
        main_waiting: t('main thread waiting'),
        gpu_bound: t('GPU-bound'),
        cpu_bound: t('CPU-bound'),
        garbage_collection: t('garbage collection'),
    })[cause] ?? cause;

export const levelName = (level: number) => [t('none'), t('minor'), t('normal'), t('severe')][level] ?? String(level);
export const levelClass = (level: number) => ['', 'minor', 'normal', 'severe'][level] ?? '';

export const flagName = (flag: string) =>
    ({
        rooted: t('rooted'),
        debugger: t('debugger'),
        emulator: t('emulator'),
        developer_mode: t('developer mode'),
        repackaged: t('repackaged'),
    })[flag] ?? flag;

export const platformName = (platform: string) => ({ android: 'Android', ios: 'iOS', linux: 'Linux' })[platform] ?? platform;

// A tier by the name that the API gives it: high, mid, mid-1 …, low, untiered, all.
export const tierLabel = (name: string): string =>
    name.startsWith('mid-')
        ? t('mid {n}', { n: name.slice(4) })
        : (({ high: t('high'), mid: t('mid'), low: t('low'), untiered: t('untiered'), all: t('all tiers') })[name] ?? name);

export const tierName = (x: { tier: number; tier_name: string }) => (x.tier > 0 ? tierLabel(x.tier_name) : t('untiered'));
