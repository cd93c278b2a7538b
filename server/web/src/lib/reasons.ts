// Why data was refused or is out of bounds, and why requests were not served: codes of the API as people read them.
import { t } from './i18n';

export const reasonName = (reason: string): string =>
    ({
        frame_out_of_bounds: t('frame times out of bounds'),
        frame_overlap: t('frames that overlap'),
        hardware_out_of_bounds: t('hardware values out of bounds'),
        core_khz_out_of_bounds: t('core frequencies out of bounds'),
        time_out_of_range: t('times out of range'),
        clock_skew: t('a clock that was wrong'),
        unknown_packet: t('packets of an unknown kind'),
        foreign_header: t('files of another build or device'),
        jank_out_of_bounds: t('janks of impossible length'),
        summary_out_of_bounds: t('a summary that contradicts itself'),
        position_not_finite: t('positions that are no numbers'),
        too_many_scenes: t('more scenes than are kept'),
        too_many_stacks: t('more stacks than are kept'),
        control_character: t('texts with control characters'),
        superseded_file: t('files replaced by later ones'),
        session_too_big: t('files past the size of a session'),
        janks_over_limit: t('more janks than are kept'),
        foreign_install: t('files of another install'),
        undecodable: t('cannot be decoded'),
        past_limit: t('larger than the limit'),
        no_session_id: t('without the id of a session'),
        part_number: t('an impossible part number'),
        wrong_kind: t('another kind of file than was said'),
        too_late: t('too late, past retention'),
        truncated: t('cut short'),
        damaged: t('damaged'),
        not_symbols: t('no file with symbols'),
        not_mapping: t('no R8 or ProGuard mapping'),
        no_debug_id: t('without a debug id'),
        no_symbols: t('stripped of symbols'),
        index_time: t('reading it took too long'),
        index_memory: t('reading it took too much memory'),
        index_crash: t('reading it failed'),
        conflict: t('another file with the same id'),
    })[reason] ?? reason.replace(/_/g, ' ');

export const sourceName = (source: string): string =>
    ({
        upload: t('upload'),
        part: t('session file'),
        session: t('session'),
        crash: t('posted crash'),
        feedback: t('posted feedback'),
        symbols: t('symbol file'),
    })[source] ?? source;

export const refusalName = (reason: string): string =>
    ({
        bad_request: t('malformed'),
        smuggling: t('ambiguous framing'),
        too_big: t('too big'),
        unauthorized: t('without a valid key'),
        forbidden: t('role not enough'),
        rate_limited: t('too frequent'),
        no_buffers: t('no buffer free'),
        commit_queue_full: t('too many commits waiting'),
        dispatch_queue_full: t('too many requests waiting'),
        too_many_requests: t('too many requests at once'),
        database: t('database not there'),
        slow_headers: t('headers too slow'),
        slow_body: t('body too slow'),
        slow_reader: t('answer read too slowly'),
        superseded: t('replaced by a newer request'),
        draining: t('server was stopping'),
    })[reason] ?? reason.replace(/_/g, ' ');
