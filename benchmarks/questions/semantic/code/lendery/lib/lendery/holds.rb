module Lendery
  module Holds
    PICKUP_DAYS = 3

    module_function

    def place(item, member)
      Hold.find_or_create(item_id: item.id, member_id: member.id) { |h| h.placed_at = Time.now }
    end

    def any?(item)
      Hold.where(item_id: item.id).any?
    end

    def ahead_of?(item, member)
      first = Hold.where(item_id: item.id).order(:placed_at).first
      !first.nil? && first.member_id != member.id
    end

    def wake_next(item)
      hold = Hold.where(item_id: item.id, ready_until: nil).order(:placed_at).first or return
      hold.update(ready_until: Date.today + PICKUP_DAYS)
      Notices.ready(hold)
    end

    # did not come to fetch it
    def sweep(today = Date.today)
      Hold.where { ready_until < today }.each do |h|
        item = h.item
        h.destroy
        wake_next(item)
      end
    end
  end
end
