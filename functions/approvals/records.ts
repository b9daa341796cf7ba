import { definePartitions, type Key } from '../core/table/keys.ts';

declare module '../core/table/keys.ts' {
  interface FeatureRecords {
    notices: true;
  }
}

const key = definePartitions({ notices: { table: 'activity', prefix: 'NOTICES#' } });

/** Which of the waiting calls the webhook has been told of. */
export const noticesKey = (): Key => key('notices', '', 'TOLD');
