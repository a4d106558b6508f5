// Says what is wrong with the connection, how old the data are, and what helps. Empty while all is well.
import { useNow, usePage, useSelect } from '../data/use-page.ts';
import { Icon } from '../parts/icon.tsx';
import { age } from '../text/format.ts';
import { visible } from '../text/visible.ts';

export function Notice({ onToken }: { readonly onToken: () => void }) {
  const { page } = usePage();
  const connection = useSelect((state) => state.connection);
  if (connection.kind === 'connected' || connection.kind === 'connecting') return null;
  const isRefused = connection.kind === 'unauthorized';
  return (
    <div class={isRefused ? 'notice notice-bad' : 'notice'}>
      <p>
        {isRefused ? refusal(connection.status) : visible(connection.why)} <DataAge />
      </p>
      <div class="notice-actions">
        {isRefused && (
          <button type="button" class="button" onClick={onToken}>
            <Icon name="lock" /> Enter a token
          </button>
        )}
        <button
          type="button"
          class="button"
          onClick={() => {
            page.retryNow();
          }}
        >
          Retry now
        </button>
      </div>
    </div>
  );
}

function refusal(status: number): string {
  return status === 401
    ? 'The kubelet does not accept your credentials (HTTP 401). Log in again, or enter a token. The page retries every 10 s.'
    : 'You are known, but may not read this node (HTTP 403). You need permission to get nodes/proxy. The page retries every 10 s.';
}

function DataAge() {
  const heardMs = useSelect((state) => state.heardMs);
  useNow();
  return heardMs === undefined ? null : <strong>What you see is {age(Date.now() - heardMs)} old.</strong>;
}
