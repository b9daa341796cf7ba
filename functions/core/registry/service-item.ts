import type { Item } from '../table/table.ts';
import type { ServiceRecord } from './records.ts';

/** A service as the table holds it. */
export type ServiceItem = ServiceRecord & Item;

export const toServiceRecord = ({ pk, sk, ...record }: ServiceItem): ServiceRecord => record as ServiceRecord;
