require 'rqrcode'

module Lendery
  module Catalogue
    module_function

    def search(text)
      return Item.order(:name).all if text.to_s.strip.empty?

      words = text.downcase.scan(/\w+/).map { |w| "#{w}*" }
      DB[:item_fts].where(Sequel.lit('item_fts MATCH ?', words.join(' '))).select_map(:item_id).map { |id| Item[id] }
    end

    def sticker(item)
      RQRCode::QRCode.new("https://lendery.example/i/#{item.id}").as_svg(module_size: 4)
    end

    # electrical safety, every two years
    def needs_inspection(today = Date.today)
      Item.where(electric: true).where { tested_on < today << 24 }.all
    end

    def never_borrowed(since)
      used = Loan.where { out_on >= since }.select(:item_id)
      Item.exclude(id: used).order(:name).all
    end
  end
end
