import type { Pagination } from '../../../schemas/pagination.ts';
import type { ApiRequest } from './request.ts';

/** A link (RFC 8288) to the request with other query parameters, and without those that are undefined. */
function linkTo(request: ApiRequest, rel: 'next' | 'prev', parameters: Record<string, string | number | undefined>): string {
  const query = new URLSearchParams(request.queryValues());
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) query.delete(name);
    else query.set(name, String(value));
  }
  return `<${request.baseUrl}${request.path}?${query}>; rel="${rel}"`;
}

/**
 * How many entries to read for a page of a list in the order of uids: after a uid, one more than it holds, which says whether there is a next page.
 * The number of pages does not, while entries come and go.
 */
export const sizeToRead = ({ page_size, after }: { page_size: number; after?: string | undefined }): number =>
  after === undefined ? page_size : page_size + 1;

/** The `Link` header of a page of such a list. @param uids - as many as were read */
export function uidLinks(request: ApiRequest, pages: Pagination, after: string | undefined, uids: string[]): Record<string, string> {
  const { page_size } = pages;
  const cursor = uids[Math.min(page_size, uids.length) - 1];
  return pageLinks(request, pages, cursor, after === undefined ? undefined : uids.length > page_size);
}

/**
 * The `Link` header of a numbered page, to its neighbours.
 * @param after - cursor of the next page
 */
export function pageLinks(
  request: ApiRequest,
  { current_page, total_pages, page_size }: Omit<Pagination, 'total_results'>,
  after: string | undefined,
  hasNext = current_page < total_pages,
): Record<string, string> {
  const previous = Math.min(current_page - 1, Math.max(total_pages, 1));
  const links = [
    ...(hasNext ? [linkTo(request, 'next', { page: current_page + 1, page_size, after })] : []),
    ...(current_page > 1 ? [linkTo(request, 'prev', { page: previous, page_size, after: undefined })] : []),
  ];
  return links.length > 0 ? { Link: links.join(', ') } : {};
}

/** The `Link` header of a page with a cursor, or no header if there is no next page. */
export const nextLink = (request: ApiRequest, name: 'after' | 'before', cursor: string | number | undefined): Record<string, string> =>
  cursor === undefined ? {} : { Link: linkTo(request, 'next', { [name]: cursor }) };
